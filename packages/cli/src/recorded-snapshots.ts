import { isHoldfastError } from '@holdfast/base';
import { type CheckpointInfo, type CheckpointTrigger, LedgerInUseError } from '@holdfast/journal';

import { beside } from './beside.js';
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
  const found: Found[] = [];
  const live: { readonly at: number; readonly journal: Journal }[] = [];
  for await (const { id, title } of stack.roots.list({ signal })) {
    if (root !== undefined && title !== root) continue;
    found.push(await orUnread('root', { id, title }, signal, rootSnapshots(stack, { id, title }, signal)));
  }
  for await (const { id, title } of stack.sessions.list({ signal })) {
    const journal = { id, title };
    const read = await orUnread('session', journal, signal, sessionSnapshots(stack, journal, signal));
    if (read.unread?.code === LedgerInUseError.code) live.push({ at: found.length, journal });
    found.push(read);
  }
  // Owners that say nothing are waited for beside each other.
  await beside(live, async ({ at, journal }) => {
    found[at] = await orUnread('session', journal, signal, ownersSnapshots(stack, journal, signal));
  });
  const unread = found.flatMap((each) => each.unread ?? []);
  const snapshots = found
    .flatMap((each) => each.snapshots)
    .filter((snapshot) => root === undefined || snapshot.root === root);
  // Each journal is in order; of snapshots of one moment, the one that was recorded later comes first.
  snapshots.reverse().sort((a, b) => b.time - a.time);
  return { snapshots, unread };
}

/** What one journal gave: its snapshots, or why it could not be read. */
interface Found {
  readonly snapshots: readonly RecordedSnapshot[];
  readonly unread?: UnreadJournal | undefined;
}

async function orUnread(
  kind: UnreadJournal['kind'],
  { id, title }: Journal,
  signal: AbortSignal,
  reading: Promise<RecordedSnapshot[]>,
): Promise<Found> {
  try {
    return { snapshots: await reading };
  } catch (error) {
    signal.throwIfAborted();
    if (!isHoldfastError(error)) throw error;
    const { code, message } = error;
    return { snapshots: [], unread: { kind, id, title: title ?? null, code, message } };
  }
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

/** @throws LedgerInUseError while another process has the session. */
async function sessionSnapshots(
  stack: LocalStack,
  { id, title }: Journal,
  signal: AbortSignal,
): Promise<RecordedSnapshot[]> {
  await using view = await stack.sessions.read(id, { signal });
  const facts = {
    kind: 'session',
    id,
    root: view.fold.placement?.root ?? null,
    title: title ?? null,
  } as const;
  return (await view.checkpoints({ signal })).map((checkpoint) => rowOf(checkpoint, facts));
}

/** What the owner of a live session tells. */
async function ownersSnapshots(
  stack: LocalStack,
  { id, title }: Journal,
  signal: AbortSignal,
): Promise<RecordedSnapshot[]> {
  let root: string | null = null;
  const found: RecordedSnapshot[] = [];
  for await (const event of sessionEvents(stack, id, signal)) {
    if (event.type === 'SessionStarted') root = event.body.placement?.root ?? null;
    if (event.type === 'WorkspaceCheckpointed') {
      const { ref, trigger } = event.body;
      const facts = { kind: 'session', id, root, title: title ?? null } as const;
      found.push(rowOf({ ref, trigger, time: event.time }, facts));
    }
  }
  return found;
}

type CheckpointFacts = Pick<CheckpointInfo, 'ref' | 'time' | 'trigger'>;

function rowOf(
  { ref, time, trigger }: CheckpointFacts,
  facts: Pick<RecordedSnapshot, 'kind' | 'id' | 'root' | 'title'>,
): RecordedSnapshot {
  return { ref, time, trigger, ...facts };
}
