import { randomHex, throwIfAborted } from '@holdfast/base';
import type { CheckpointInfo, JournalReading, SessionEvent, SessionFold } from '@holdfast/journal';
import { parseRef, type Ref, tryParseRef } from '@holdfast/workspacestore';

import { SessionPointError } from '../errors.js';
import type { SessionRuntime } from '../runtime.js';
import type { ForkPoint } from '../runtime-parts.js';
import type { RewindRecord } from './restore-record.js';

/** Where files and conversation go together. */
export interface RestorePoint {
  readonly ref: Ref;
  readonly rewind: RewindRecord | undefined;
  /** What the restore that is taken back brought. */
  readonly undoes?: Ref | undefined;
}

/** A checkpoint and the conversation that belongs to it. */
export interface ResolvedPoint {
  readonly ref: Ref;
  /** The last record of the conversation that belongs to the point. */
  readonly seq: number;
}

/**
 * Finds the files and the end of the conversation for a turn, an event or a checkpoint.
 * @throws SessionPointError when there is no such point, or no checkpoint shows the files as they were there.
 */
export async function rewindPoint(
  runtime: SessionRuntime,
  point: string,
  signal: AbortSignal | undefined,
): Promise<RestorePoint> {
  const { ref, seq } = await resolvePoint(runtime.journal, point, signal);
  return { ref, rewind: { id: freshId(runtime), to: point, seq } };
}

/**
 * Finds what the last restore replaced: the checkpoint taken for its sake, and the conversation before it when it was a
 * rewind.
 * @throws SessionPointError when there was no restore, or it was made without a safety checkpoint.
 */
export async function undoPoint(
  runtime: SessionRuntime,
  signal: AbortSignal | undefined,
): Promise<RestorePoint> {
  throwIfAborted(signal);
  const restored = runtime.fold.lastRestore;
  const missing = (wanted: string, detail: string): SessionPointError =>
    new SessionPointError(runtime.id, 'undo', wanted, detail);
  if (restored === undefined) throw missing('last restore', 'nothing was restored yet');
  const checkpoints = await runtime.journal.checkpoints({ signal });
  const safety = checkpoints.find(
    ({ trigger, cause }) => trigger === 'safety' && cause?.restore === restored.restoreId,
  );
  if (safety === undefined) throw missing(restored.restoreId, 'it was made without a safety checkpoint');
  const ref = parseRef(safety.ref);
  const undoes = tryParseRef(restored.ref);
  const rewound = runtime.fold.rewinds.find(({ seq }) => seq === restored.seq + 1);
  if (rewound === undefined) return { ref, rewind: undefined, undoes };
  return { ref, rewind: { id: freshId(runtime), to: safety.id, seq: restored.seq - 1 }, undoes };
}

/**
 * Finds the checkpoint that a fork of a session begins with, the last one by default, and the end of its conversation there.
 * @throws SessionPointError when there is no such point, or no checkpoint shows the files as they were there.
 */
export async function forkPoint(journal: JournalReading, options: ForkPoint): Promise<ResolvedPoint> {
  const { signal } = options;
  throwIfAborted(signal);
  if (options.at !== undefined) return await resolvePoint(journal, options.at, signal);
  const last = journal.fold.currentWorkspace;
  if (last === undefined) {
    throw new SessionPointError(journal.id, 'checkpoint', 'last checkpoint', 'take a checkpoint first');
  }
  return { ref: parseRef(last.ref), seq: withRewind(journal.fold, last.seq) };
}

/** A rewind is two records that are written at once: the restore of the files, and that of the conversation. */
function withRewind(fold: SessionFold, restored: number): number {
  return fold.rewinds.some(({ seq }) => seq === restored + 1) ? restored + 1 : restored;
}

async function resolvePoint(
  journal: JournalReading,
  point: string,
  signal: AbortSignal | undefined,
): Promise<ResolvedPoint> {
  throwIfAborted(signal);
  let pointer: string | undefined;
  let turnEnd: number | undefined;
  for await (const event of journal.events({ signal })) {
    pointer = refOf(event) ?? pointer;
    if (endsTurn(event, point)) turnEnd = event.seq;
    if (event.id !== point) continue;
    const turn = turnOf(event);
    if (turn !== undefined) return await turnPoint(journal, turn, event.seq, signal);
    if (pointer === undefined) break;
    const isRestore = event.type === 'WorkspaceRestored';
    return { ref: parseRef(pointer), seq: isRestore ? withRewind(journal.fold, event.seq) : event.seq };
  }
  if (turnEnd !== undefined) return await turnPoint(journal, point, turnEnd, signal);
  throw new SessionPointError(journal.id, 'point', point, 'it names no ended turn and no event with files');
}

async function turnPoint(
  journal: JournalReading,
  turn: string,
  seq: number,
  signal: AbortSignal | undefined,
): Promise<ResolvedPoint> {
  const checkpoint: CheckpointInfo | undefined = await journal.checkpointForTurn(turn, { signal });
  if (checkpoint === undefined) {
    throw new SessionPointError(
      journal.id,
      'checkpoint',
      turn,
      'no checkpoint shows the files as this turn left them',
    );
  }
  return { ref: parseRef(checkpoint.ref), seq };
}

function refOf(event: SessionEvent): string | undefined {
  if (event.type === 'WorkspaceCheckpointed' || event.type === 'WorkspaceRestored') {
    return (event.body as { ref: string }).ref;
  }
  return undefined;
}

function turnOf(event: SessionEvent): string | undefined {
  switch (event.type) {
    case 'TurnDone':
    case 'TurnFailed':
    case 'TurnInterrupted':
      return (event.body as { turn: string }).turn;
    default:
      return undefined;
  }
}

function endsTurn(event: SessionEvent, turn: string): boolean {
  return turnOf(event) === turn;
}

function freshId(runtime: SessionRuntime): string {
  return randomHex(runtime.parts.random, 16);
}
