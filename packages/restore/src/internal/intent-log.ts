import { concatBytes } from '@holdfast/base';
import { appendDurably, type Dir, type File, FileSystemError, replaceFile } from '@holdfast/durable';

import type { CommittingRecord, IntentHistory, RestoreIntent, RestorePhase } from '../intent.js';
import {
  damaged,
  decodeIntent,
  decodePhase,
  decodeRecord,
  encodeIntent,
  encodePhase,
  encodeRecord,
  newline,
} from './intent-codec.js';

/** Name of the intent inside a session's scratch. */
export const intentName = 'intent';

const maxIntentBytes = 1024 * 1024 * 1024;
// Room for the last phases is taken before the first change, so that a full disk cannot keep an undo from being recorded.
const reservedBytes = 1024;

/** What may follow a phase. */
const successors: Readonly<Record<RestorePhase, readonly RestorePhase[]>> = {
  intended: ['prepared', 'undone'],
  prepared: ['committing', 'undone'],
  committing: ['committed', 'undone'],
  committed: [],
  undone: [],
};

/** The intent of one restore, open for its next phase. */
export class IntentLog implements Disposable {
  readonly intent: RestoreIntent;
  #phase: RestorePhase;
  #committing: CommittingRecord | undefined;
  /** A phase that says no more than the one before it; written together with the next. */
  #unwritten: Uint8Array = new Uint8Array(0);
  readonly #file: File;
  #end: number;

  private constructor(file: File, history: IntentHistory, end: number) {
    this.#file = file;
    this.intent = history.intent;
    this.#phase = history.phase;
    this.#committing = history.committing;
    this.#end = end;
  }

  /** Publishes a new intent: it is there whole, durably, or not at all. Replaces one whose outcome is settled. */
  static async create(dir: Dir, intent: RestoreIntent): Promise<IntentLog> {
    return await IntentLog.rewrite(dir, { intent, phase: 'intended' });
  }

  /**
   * Publishes an intent anew together with the phases it has reached, in the place of a file that takes nothing any more:
   * the old file is there or the new one, whole. One step, because an intent without its `committing` says that nothing
   * was changed, and its undo copies would be removed.
   */
  static async rewrite(dir: Dir, history: IntentHistory): Promise<IntentLog> {
    const records = encodeHistory(history);
    const room = new Uint8Array(history.phase === 'committing' ? reservedBytes : 0);
    await replaceFile(dir, intentName, concatBytes([records, room]), {
      mode: 0o600,
      operation: history.intent.restoreId,
    });
    return new IntentLog(dir.openFile(intentName, 'read-write'), history, records.length);
  }

  /**
   * Opens the intent of a scratch directory; `undefined` when there is none.
   * @throws RestoreIntentError when it cannot be used.
   */
  static open(dir: Dir): IntentLog | undefined {
    let file: File;
    try {
      file = dir.openFile(intentName, 'read-write');
    } catch (error) {
      if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
      if (FileSystemError.is(error) && ['ELOOP', 'EISDIR', 'ENXIO'].includes(error.errno)) {
        throw damaged('it is no regular file');
      }
      throw error;
    }
    try {
      if (file.stat().kind !== 'file') throw damaged('it is no regular file');
      const { history, end } = parseIntent(file.readAll({ maxBytes: maxIntentBytes }));
      return new IntentLog(file, history, end);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /**
   * Makes durable what was read, its name in `dir` too: whoever wrote it may have died before doing so, and what follows
   * relies on it. Without the name a power loss could bring back the intent that this one replaced.
   */
  async settle(dir: Dir): Promise<void> {
    await this.#file.syncLater('content');
    await dir.syncLater();
  }

  get history(): IntentHistory {
    return { intent: this.intent, phase: this.#phase, committing: this.#committing };
  }

  get phase(): RestorePhase {
    return this.#phase;
  }

  /**
   * Notes that the new content is there. To a recovery it means what `intended` means, so that it costs no write of its own.
   */
  notePrepared(): void {
    this.#refuseUnlessNext('prepared');
    this.#unwritten = encodeRecord(encodePhase('prepared'));
    this.#phase = 'prepared';
  }

  /** Records the next phase durably. When this rejects, nobody can tell whether it is recorded. */
  async advance(phase: RestorePhase, committing?: CommittingRecord): Promise<void> {
    this.#refuseUnlessNext(phase);
    const record = concatBytes([this.#unwritten, encodeRecord(encodePhase(phase, committing))]);
    const room = phase === 'committing' ? reservedBytes : 0;
    // Zeros up to the old end wipe what a torn append may have left there.
    const zeros = Math.max(room, this.#file.stat().size - this.#end - record.length, 0);
    await appendDurably(this.#file, concatBytes([record, new Uint8Array(zeros)]), { position: this.#end });
    this.#end += record.length;
    this.#unwritten = new Uint8Array(0);
    this.#phase = phase;
    this.#committing = committing ?? this.#committing;
  }

  #refuseUnlessNext(phase: RestorePhase): void {
    if (successors[this.#phase].includes(phase)) return;
    throw new TypeError(`advance: ${phase} cannot follow ${this.#phase}`);
  }

  close(): void {
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The records of an intent that has come so far. */
function encodeHistory({ intent, phase, committing }: IntentHistory): Uint8Array {
  const records = [encodeIntent(intent)];
  if (phase === 'prepared' || committing !== undefined) records.push(encodePhase('prepared'));
  if (committing !== undefined) records.push(encodePhase('committing', committing));
  if (phase === 'committed' || phase === 'undone') records.push(encodePhase(phase));
  return concatBytes(records.map(encodeRecord));
}

/** @throws RestoreIntentError when the bytes are no intent, or damaged beyond a torn last append. */
export function parseIntent(bytes: Uint8Array): { history: IntentHistory; end: number } {
  const first = decodeRecord(bytes, 0);
  if (first === undefined) throw damaged('the first record is unreadable');
  const intent = decodeIntent(first.value);
  let phase: RestorePhase = 'intended';
  let committing: CommittingRecord | undefined;
  let { end } = first;
  for (let next = decodeRecord(bytes, end); next !== undefined; next = decodeRecord(bytes, end)) {
    const record = decodePhase(next.value);
    if (!successors[phase].includes(record.phase)) throw damaged(`${record.phase} follows ${phase}`);
    phase = record.phase;
    committing = record.committing ?? committing;
    end = next.end;
  }
  refuseDamagedTail(bytes.subarray(end));
  return { history: { intent, phase, committing }, end };
}

/** A torn append leaves a prefix of one line, then zeros at most. A whole line that does not check out is damage. */
function refuseDamagedTail(tail: Uint8Array): void {
  if (tail.includes(newline)) throw damaged('a record after the first is unreadable');
}
