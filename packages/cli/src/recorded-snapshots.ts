import { isHoldfastError } from '@holdfast/base';
import { type CheckpointInfo, type CheckpointTrigger, LedgerInUseError } from '@holdfast/journal';

import { sessionEvents } from './session-access.js';
import type { LocalStack } from './stack.js';

/** A snapshot that a journal of the home names. */
export interface RecordedSnapshot {
  readonly ref: string;
  /** When it was recorded; milliseconds since 1970. */
  readonly time: number;
  /** Why it was taken: `manual`, `safety`, `baseline` and so on, as the journal has it. */
  readonly trigger: CheckpointTrigger;
  /** Which sort of journal names it. */
  readonly kind: 'session' | 'root' | 'imports';
  /** Id of the session or of the root's journal. */
  readonly id: string;
  /** The directory it was taken of; `null` for an import. */
  readonly root: string | null;
  /** Title of the session; `null` without one. */
  readonly title: string | null;
}

/** A journal that could not be read, so that its snapshots are not in the list. */
export interface UnreadJournal {
  readonly kind: 'session' | 'root';
  readonly id: string;
  /** A session's title; a root's path; `null` without one. */
  readonly title: string | null;
  readonly code: string;
  readonly message: string;
}

/** What the journals of a home name, newest first. */
export interface RecordedSnapshots {
  readonly snapshots: readonly RecordedSnapshot[];
  readonly unread: readonly UnreadJournal[];
}

/**
 * Reads the journals of roots and of sessions; a live session is asked through its owner. `root`: only snapshots of this
 * directory (absolute, canonical); default: all. A journal that cannot be read is reported, and the rest is read.
 */
export async function recordedSnapshots(
  stack: LocalStack,
  root: string | undefined,
  signal: AbortSignal,
): Promise<RecordedSnapshots> {
  const snapshots: RecordedSnapshot[] = [];
  const unread: UnreadJournal[] = [];
  for (const kind of ['root', 'session'] as const) {
    const look = kind === 'root' ? rootSnapshots : sessionSnapshots;
    for await (const { id, title } of (kind === 'root' ? stack.roots : stack.sessions).list({ signal })) {
      if (kind === 'root' && root !== undefined && title !== root) continue;
      try {
        const found = await look(stack, { id, title }, signal);
        snapshots.push(...found.filter((snapshot) => root === undefined || snapshot.root === root));
      } catch (error) {
        signal.throwIfAborted();
        if (!isHoldfastError(error)) throw error;
        const { code, message } = error;
        unread.push({ kind, id, title: title ?? null, code, message });
      }
    }
  }
  // Each journal is in order; of snapshots of one moment, the one that was recorded later comes first.
  snapshots.reverse().sort((a, b) => b.time - a.time);
  return { snapshots, unread };
}

interface Journal {
  readonly id: string;
  readonly title: string | undefined;
}

async function rootSnapshots(
  stack: LocalStack,
  { id, title }: Journal,
  signal: AbortSignal,
): Promise<RecordedSnapshot[]> {
  await using view = await stack.roots.read(id, { signal });
  // The journal of a root is named by a digest of it, that of imports by a word.
  const isRoot = /^[0-9a-f]{64}$/.test(id);
  const facts = { kind: isRoot ? 'root' : 'imports', id, root: isRoot ? (title ?? null) : null } as const;
  return (await view.checkpoints({ signal })).map((checkpoint) =>
    rowOf(checkpoint, { ...facts, title: null }),
  );
}

async function sessionSnapshots(
  stack: LocalStack,
  { id, title = null }: { readonly id: string; readonly title: string | null | undefined },
  signal: AbortSignal,
): Promise<RecordedSnapshot[]> {
  const { root, checkpoints } = await sessionCheckpoints(stack, id, signal);
  return checkpoints.map((checkpoint) => rowOf(checkpoint, { kind: 'session', id, root, title }));
}

type CheckpointFacts = Pick<CheckpointInfo, 'ref' | 'time' | 'trigger'>;

async function sessionCheckpoints(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly root: string | null; readonly checkpoints: readonly CheckpointFacts[] }> {
  try {
    await using view = await stack.sessions.read(id, { signal });
    return { root: view.fold.placement?.root ?? null, checkpoints: await view.checkpoints({ signal }) };
  } catch (error) {
    if (!LedgerInUseError.is(error)) throw error;
  }
  let root: string | null = null;
  const checkpoints: CheckpointFacts[] = [];
  for await (const event of sessionEvents(stack, id, signal)) {
    if (event.type === 'SessionStarted') root = event.body.placement?.root ?? null;
    if (event.type === 'WorkspaceCheckpointed') {
      const { ref, trigger } = event.body;
      checkpoints.push({ ref, trigger, time: event.time });
    }
  }
  return { root, checkpoints };
}

function rowOf(
  { ref, time, trigger }: CheckpointFacts,
  facts: Pick<RecordedSnapshot, 'kind' | 'id' | 'root' | 'title'>,
): RecordedSnapshot {
  return { ref, time, trigger, ...facts };
}
