import type { JsonValue } from '@holdfast/base';

import { emptyFold, type FoldInput, foldRecord, type SessionFold } from '../fold.js';
import type { ResolvedRecord } from '../record.js';
import { AppendList } from './append-list.js';
import { type Fact, factOf } from './facts.js';
import { genesisDigest } from './record-codec.js';

/** An index record is due after so many records, or so many stored bytes, since the last one. */
export const indexEveryRecords: number = 1_024;
export const indexEveryBytes: number = 8 * 1_048_576;

/** Version of the fold inside index records; another one makes an opener replay the journal instead. */
export const foldVersion = 1;

/** The body of an index record. It covers the records after the previous index and before itself. */
export type IndexBody = {
  readonly foldVersion: number;
  /** Sequence and digest of the previous index record; 0 and empty for the first. */
  readonly previousIndex: number;
  readonly previousDigest: string;
  /** The fold of everything before this record. */
  readonly fold: SessionFold;
  /** Ids of the covered records, in order. */
  readonly ids: readonly string[];
  readonly facts: readonly Fact[];
};

/** Where a journal stands: its end, its fold, and what came after its last index record. */
export class JournalPosition {
  tip = 0;
  digest: string;
  fold: SessionFold = emptyFold;
  lastIndex = 0;
  lastIndexDigest = '';
  bytes = 0;
  #ids: AppendList<string> = new AppendList();
  #facts: AppendList<Fact> = new AppendList();

  private constructor(digest: string) {
    this.digest = digest;
  }

  /** Where the journal of a session begins. */
  static beginningOf(sessionId: string): JournalPosition {
    return new JournalPosition(genesisDigest(sessionId));
  }

  /** Facts of the records after the last index record. */
  get facts(): readonly Fact[] {
    return this.#facts.toArray();
  }

  clone(): JournalPosition {
    const copy = new JournalPosition(this.digest);
    copy.tip = this.tip;
    copy.fold = this.fold;
    copy.lastIndex = this.lastIndex;
    copy.lastIndexDigest = this.lastIndexDigest;
    copy.bytes = this.bytes;
    copy.#ids = this.#ids.copy();
    copy.#facts = this.#facts.copy();
    return copy;
  }

  /** Moves past one more record. */
  add(record: FoldInput & { readonly digest: string; readonly bytes: number }): void {
    this.tip = record.seq;
    this.digest = record.digest;
    this.fold = foldRecord(this.fold, record);
    if (record.kind === 'index') {
      this.lastIndex = record.seq;
      this.lastIndexDigest = record.digest;
      this.#ids = new AppendList();
      this.#facts = new AppendList();
      this.bytes = 0;
      return;
    }
    this.#ids.push(record.id);
    this.bytes += record.bytes;
    const fact = factOf(record);
    if (fact !== undefined) this.#facts.push(fact);
  }

  get indexDue(): boolean {
    return this.#ids.length >= indexEveryRecords || this.bytes >= indexEveryBytes;
  }

  /** The body of an index record that would come next. */
  indexBody(): IndexBody {
    return {
      foldVersion,
      previousIndex: this.lastIndex,
      previousDigest: this.lastIndexDigest,
      fold: this.fold,
      ids: this.#ids.toArray(),
      facts: this.facts,
    };
  }

  /** Starts over from an index record. */
  startAt(record: ResolvedRecord, body: IndexBody): void {
    this.fold = body.fold;
    this.add({ ...record, kind: 'index' });
  }
}

/** Reads the body of an index record; `undefined` when it has another fold version or is not one. */
export function parseIndexBody(seq: number, body: JsonValue): IndexBody | 'other-version' | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const index = body as unknown as IndexBody;
  if (index.foldVersion !== foldVersion) {
    return Number.isSafeInteger(index.foldVersion) ? 'other-version' : undefined;
  }
  const fits =
    Number.isSafeInteger(index.previousIndex) &&
    index.previousIndex >= 0 &&
    index.previousIndex < seq &&
    typeof index.previousDigest === 'string' &&
    Array.isArray(index.ids) &&
    index.ids.length === seq - 1 - index.previousIndex &&
    Array.isArray(index.facts) &&
    typeof index.fold === 'object' &&
    (index.fold as SessionFold | null)?.seq === seq - 1;
  return fits ? index : undefined;
}
