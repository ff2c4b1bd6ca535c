import { dirname } from 'node:path';

import { systemClock } from '@holdfast/base';
import {
  LedgerInUseError,
  type SessionEvent,
  type SessionPlacement,
  type SessionSummary,
  type WorkspaceCheckpointedBody,
} from '@holdfast/journal';
import type { RestorePlan, RestoreReceipt } from '@holdfast/restore';
import {
  defineRig,
  exclusiveWorkspace,
  type FixedPlacementOptions,
  type OpenedSession,
  type PlacementOptions,
  type Rig,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacement,
} from '@holdfast/rig';
import {
  ControlCallError,
  ControlClient,
  ControlUnavailableError,
  type RemotePreviewOptions,
  type RemoteRestoreOptions,
  type SessionCheckpoint,
} from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';

import { beside } from './beside.js';
import { placementCapture } from './commands/capture-options.js';
import { SessionLiveError } from './errors.js';
import { ownerAnswer, ownerState } from './owner-answer.js';
import type { LocalCaptureOptions, LocalStack } from './stack.js';

/** What people do with a session, whoever owns it: its live owner is asked, else it is opened here. */
export interface SessionAccess extends AsyncDisposable {
  /** From this record on; default: all. */
  events(from?: number): AsyncIterable<SessionEvent>;
  checkpoints(): Promise<readonly SessionCheckpoint[]>;
  checkpoint(): Promise<Ref>;
  preview(ref: Ref, options: RemotePreviewOptions): Promise<RestorePlan>;
  restore(ref: Ref, options: RemoteRestoreOptions): Promise<RestoreReceipt>;
  /** `undefined`: the live owner is of a version that cannot show it. */
  previewRewind(point: string, options: RemotePreviewOptions): Promise<RestorePlan | undefined>;
  rewind(point: string, options: RemoteRestoreOptions): Promise<RestoreReceipt>;
  /** `undefined`: the live owner is of a version that cannot show it. */
  previewUndo(options: RemotePreviewOptions): Promise<RestorePlan | undefined>;
  undo(options: RemoteRestoreOptions): Promise<RestoreReceipt>;
}

/**
 * Reaches a session. A live owner is asked through its control socket. When nobody owns it, it is opened with the
 * placement that its journal names and the given capture options, keeping the files as they are, and shut down at the end.
 * @throws SessionNotFoundError; LedgerInUseError naming an owner that cannot be asked; SessionLiveError when a live
 * owner does not answer, or would have to capture as it is told from outside.
 */
export async function accessSession(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
  options: LocalCaptureOptions = {},
): Promise<SessionAccess> {
  const capture = placementCapture(options);
  const client = await askOwner(stack, id, signal);
  if (client !== undefined) {
    if (Object.keys(capture).length === 0) return remoteAccess(client, signal);
    await client.close();
    throw new SessionLiveError(id, 'captures', (await stack.sessions.owner(id, { signal })) ?? {});
  }
  const placement = await placementOf(stack, id, signal);
  const rig = defineRig(
    stack.fragment,
    placement === undefined
      ? {}
      : { workspace: workspaceFor(stack, placement, capture), snapshots: { trigger: 'manual' } },
  );
  const { onProgress } = options;
  const session = await rig.openSession(id, { drift: 'keep', onProgress, signal });
  session.observe((notice) => {
    if (notice.type === 'checkpoint-progress') onProgress?.(notice.progress);
  });
  return localAccess(session, signal);
}

/** A checkpoint of a session with what it read, stored and left out. */
export type CheckpointReport = Pick<SessionCheckpoint, 'ref' | 'stats'> &
  Pick<WorkspaceCheckpointedBody, 'coverage'>;

/** Takes a checkpoint. What is asked for gives its ref alone; the rest is in the journal. */
export async function takeCheckpoint(access: SessionAccess): Promise<CheckpointReport> {
  const ref = await access.checkpoint();
  const taken = (await access.checkpoints()).findLast((checkpoint) => checkpoint.ref === ref);
  if (taken === undefined) throw new TypeError(`the journal has no checkpoint of ${ref}`);
  return await reportOf(access, taken);
}

async function reportOf(
  access: Pick<SessionAccess, 'events'>,
  { seq, ref, stats }: SessionCheckpoint,
): Promise<CheckpointReport> {
  for await (const event of access.events(seq)) {
    if (event.type === 'WorkspaceCheckpointed') return { ref, stats, coverage: event.body.coverage };
  }
  throw new TypeError(`record ${seq} of the journal is no checkpoint`);
}

/** Yields a session's events without owning it. */
export async function* sessionEvents(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent, void, undefined> {
  const client = await askOwner(stack, id, signal);
  if (client !== undefined) {
    await using access = remoteAccess(client, signal);
    yield* access.events();
    return;
  }
  await using view = await stack.sessions.read(id, { signal });
  yield* view.events({ signal });
}

/** A session of a list, and where its files are. */
export type PlacedSession = SessionSummary & {
  /** `undefined` without a workspace, and when neither its journal nor its owner tells. */
  readonly placement: SessionPlacement | undefined;
};

/** Lists the sessions of a home, sorted by id. The owners of live ones are asked beside each other. */
export async function listSessions(stack: LocalStack, signal: AbortSignal): Promise<PlacedSession[]> {
  const sessions: PlacedSession[] = [];
  const live: { readonly at: number; readonly summary: SessionSummary }[] = [];
  for await (const summary of stack.sessions.list({ signal })) {
    try {
      sessions.push({ ...summary, placement: await journalPlacement(stack, summary.id, signal) });
    } catch (error) {
      signal.throwIfAborted();
      if (LedgerInUseError.is(error)) live.push({ at: sessions.length, summary });
      sessions.push({ ...summary, placement: undefined });
    }
  }
  await beside(live, async ({ at, summary }) => {
    sessions[at] = { ...summary, placement: await ownersPlacement(stack, summary.id, signal) };
  });
  return sessions;
}

/** Where the files of a session are, as its journal has it. @throws LedgerInUseError while another process has it. */
export async function journalPlacement(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): Promise<SessionPlacement | undefined> {
  await using view = await stack.sessions.read(id, { signal });
  return view.fold.placement;
}

/** What the owner of a live session tells; `undefined` when it does not. */
async function ownersPlacement(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): Promise<SessionPlacement | undefined> {
  try {
    for await (const event of sessionEvents(stack, id, signal)) {
      if (event.type === 'SessionStarted') return event.body.placement;
    }
  } catch {
    signal.throwIfAborted();
  }
  return undefined;
}

/** A session that begins in a fixed root. */
export interface Beginning {
  readonly root: string;
  readonly mode: 'exclusive' | 'shared';
  readonly title?: string | undefined;
  readonly capture: LocalCaptureOptions;
  readonly signal: AbortSignal;
}

/** A session that has begun, and its first checkpoint. */
export interface Begun {
  readonly id: string;
  readonly first: CheckpointReport | undefined;
}

/** Makes a session with a fixed root and leaves it for whoever opens it. */
export async function createSession(stack: LocalStack, beginning: Beginning): Promise<Begun> {
  const { title, signal } = beginning;
  const rig = rigFor(stack, beginning, false);
  return await begun(await rig.newSession({ title, signal }), signal);
}

/**
 * Makes a session that begins as another one was at a point, by default its last checkpoint, in a root that is missing or
 * empty, and leaves it for whoever opens it.
 * @throws SessionLiveError (`open`) while a process has the other one.
 */
export async function forkSession(
  stack: LocalStack,
  id: string,
  at: string | undefined,
  beginning: Beginning,
): Promise<Begun> {
  const { title, signal } = beginning;
  const { onProgress } = beginning.capture;
  try {
    const rig = rigFor(stack, beginning, true);
    return await begun(await rig.forkSession(id, { at, title, onProgress, signal }), signal);
  } catch (error) {
    if (!LedgerInUseError.is(error)) throw error;
    throw await liveError(stack, id, signal, error);
  }
}

/** The refusal of what needs that no process has the session. */
export async function liveError(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
  cause: Error,
): Promise<SessionLiveError> {
  const owner = (await stack.sessions.owner(id, { signal })) ?? {};
  return new SessionLiveError(id, 'open', owner, { cause });
}

function rigFor(stack: LocalStack, { mode, root, capture }: Beginning, create: boolean): Rig {
  return defineRig(stack.fragment, {
    workspace: workspaceFor(stack, { mode, root }, { ...placementCapture(capture), create }),
    snapshots: { trigger: 'manual' },
  });
}

async function begun(opened: OpenedSession, signal: AbortSignal): Promise<Begun> {
  await using session = opened;
  const [first] = await session.checkpoints({ signal });
  return {
    id: session.id,
    first: first === undefined ? undefined : await reportOf(localAccess(session, signal), first),
  };
}

async function askOwner(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): Promise<ControlClient | undefined> {
  const owner = await stack.sessions.owner(id, { signal });
  const socket = owner?.['socket'];
  if (typeof socket !== 'string') return undefined;
  try {
    const client = await ControlClient.connect(socket, { signal });
    try {
      await ownerAnswer(
        (limited) => client.call('describe', {}, { signal: limited }),
        () => ownerState(owner ?? {}),
        (state) => new SessionLiveError(id, state === 'running' ? 'busy' : 'silent', owner ?? {}),
        { clock: systemClock, signal },
      );
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  } catch (error) {
    // The note outlives its writer: a dead owner's socket is nobody's, also when it died just now.
    if (ControlUnavailableError.is(error) && ['not-listening', 'disconnected'].includes(error.kind))
      return undefined;
    throw error;
  }
}

async function placementOf(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): Promise<SessionPlacement | undefined> {
  try {
    return await journalPlacement(stack, id, signal);
  } catch (error) {
    if (!LedgerInUseError.is(error)) throw error;
    // Its owner may have begun to listen since: ask once more before giving up.
    await using client = await askOwner(stack, id, signal);
    if (client === undefined) throw error;
    return undefined;
  }
}

/** The placement of a session as its journal names it. */
export function workspaceFor(
  stack: LocalStack,
  { mode, root }: SessionPlacement,
  options: PlacementOptions & Pick<FixedPlacementOptions, 'create'>,
): WorkspacePlacement {
  switch (mode) {
    case 'exclusive':
      return exclusiveWorkspace(stack.store, root, stack.leaser, options);
    case 'shared':
      return sharedWorkspace(stack.store, root, options);
    case 'per-session':
      return sessionWorkspaces(stack.store, dirname(root), options);
  }
}

const pageSize = 500;

function remoteAccess(client: ControlClient, signal: AbortSignal): SessionAccess {
  const call = { signal };
  return {
    events: async function* (first = 1) {
      for (let from: number | null = first; from !== null; ) {
        const page: { readonly events: readonly SessionEvent[]; readonly next: number | null } =
          await client.call('events', { from, limit: pageSize }, call);
        yield* page.events;
        from = page.next;
      }
    },
    checkpoints: () => client.call('checkpoints', {}, call),
    checkpoint: () => client.call('checkpoint', {}, call),
    preview: (ref, options) => client.call('preview', { ref, options }, call),
    restore: (ref, options) => client.call('restore', { ref, options }, call),
    previewRewind: (point, options) => ifKnown(client.call('previewRewind', { point, options }, call)),
    rewind: (point, options) => client.call('rewind', { point, options }, call),
    previewUndo: (options) => ifKnown(client.call('previewUndo', { options }, call)),
    undo: (options) => client.call('undo', { options }, call),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** What a live owner answered; `undefined` when it is of a version that does not know the method. */
async function ifKnown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const message =
      ControlCallError.is(error) && error.remoteCode === '' ? error.remote['message'] : undefined;
    if (typeof message === 'string' && message.startsWith('unknown method ')) return undefined;
    throw error;
  }
}

function localAccess(session: OpenedSession, signal: AbortSignal): SessionAccess {
  const call = { signal };
  return {
    events: (from) => session.events({ ...call, from }),
    checkpoints: () => session.checkpoints(call),
    checkpoint: () => session.checkpointWorkspace(call),
    preview: (ref, options) => session.previewRestore(ref, { ...options, signal }),
    restore: (ref, options) => session.restoreWorkspace(ref, { ...options, signal }),
    previewRewind: (point, options) => session.previewRewind(point, { ...options, signal }),
    rewind: (point, options) => session.rewindTo(point, { ...options, signal }),
    previewUndo: (options) => session.previewUndo({ ...options, signal }),
    undo: (options) => session.undo({ ...options, signal }),
    [Symbol.asyncDispose]: () => session.shutdown(),
  };
}
