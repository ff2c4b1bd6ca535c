import { isHoldfastError, type JsonValue, sha256Hex } from '@holdfast/base';
import type { Blobs, BlobsErrorCode } from '@holdfast/blobs';

import { JournalCorruptError } from '../errors.js';
import { checkPrivate, checkStoredEvent } from '../event-catalogue.js';
import type { Ledger } from '../ledger.js';
import type { JournalRecord, PointerBody, ResolvedRecord } from '../record.js';
import { EventInvalidError } from '../session-errors.js';
import { journalLedgerName } from '../shared-session-ledgers.js';
import { parseJsonText } from './json-text.js';
import { decodeRecord, genesisDigest } from './record-codec.js';
import { isObject } from './schema.js';

export interface ReadRange {
  readonly from: number;
  readonly to: number;
  /** Digest of the record before `from`, where the caller knows it; else that record is read as well. */
  readonly after?: string | undefined;
  /** Epoch of that record, where the caller knows it. */
  readonly epoch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads records of one session and checks everything about them: digest, place, chain, epochs, bodies, schemas. */
export class RecordReader {
  readonly sessionId: string;
  readonly #ledger: Ledger;
  readonly #blobs: Blobs;

  constructor(sessionId: string, ledger: Ledger, blobs: Blobs) {
    this.sessionId = sessionId;
    this.#ledger = ledger;
    this.#blobs = blobs;
  }

  async tip(signal?: AbortSignal): Promise<number> {
    return await this.#ledger.tip(journalLedgerName, { signal });
  }

  /** Reads one record, without its neighbours. */
  async one(seq: number, signal?: AbortSignal): Promise<JournalRecord> {
    for await (const record of this.#decoded({ from: seq, to: seq, signal })) return record;
    throw new JournalCorruptError(this.sessionId, 'missing', { seq });
  }

  /** Reads `from` to `to` and checks that each record continues the one before it. */
  async *read(range: ReadRange): AsyncGenerator<JournalRecord, void, undefined> {
    if (range.from > range.to) return;
    const { previous, epoch } = await this.#before(range);
    const chain = new Chain(this.sessionId, previous, epoch);
    let next = range.from;
    for await (const record of this.#decoded(range)) {
      chain.check(record);
      next = record.seq + 1;
      yield record;
    }
    // The ledger bounds by its own tip; ours says that the record was acknowledged.
    if (next <= range.to) throw new JournalCorruptError(this.sessionId, 'missing', { seq: next });
  }

  /** Reads from `from` on, then waits for new records. */
  async *follow(from: number, signal: AbortSignal): AsyncGenerator<JournalRecord, void, undefined> {
    let chain: Chain | undefined;
    try {
      for await (const stored of this.#ledger.follow(journalLedgerName, { from, signal })) {
        const record = decodeRecord(this.sessionId, stored.seq, stored.data);
        if (chain === undefined) {
          const { previous, epoch } = await this.#before({ from, to: record.seq, signal });
          chain = new Chain(this.sessionId, previous, epoch);
        }
        chain.check(record);
        yield record;
      }
    } catch (error) {
      throw this.#renamed(error);
    }
  }

  /**
   * Returns the record with its real body, checked against its schema.
   * @throws JournalCorruptError with the sequence when body or schema do not hold.
   */
  async resolve(record: JournalRecord, signal?: AbortSignal): Promise<ResolvedRecord> {
    const { kind, of, ...rest } = record;
    const resolved: ResolvedRecord =
      kind === 'pointer'
        ? {
            ...rest,
            kind: of ?? 'event',
            offloaded: true,
            body: await this.#fetch(record.seq, record.body, signal),
          }
        : { ...rest, kind, offloaded: false };
    try {
      if (resolved.kind === 'event') checkStoredEvent(resolved.type ?? '', resolved.body);
      if (resolved.kind === 'private') checkPrivate(resolved.type, resolved.body);
    } catch (error) {
      if (!EventInvalidError.is(error)) throw error;
      throw new JournalCorruptError(this.sessionId, 'event-invalid', { seq: record.seq, cause: error });
    }
    return resolved;
  }

  async #before(range: ReadRange): Promise<{ readonly previous: string; readonly epoch: number }> {
    if (range.after !== undefined) return { previous: range.after, epoch: range.epoch ?? 0 };
    if (range.from === 1) return { previous: genesisDigest(this.sessionId), epoch: 0 };
    const before = await this.one(range.from - 1, range.signal);
    return { previous: before.digest, epoch: before.epoch };
  }

  async *#decoded(range: ReadRange): AsyncGenerator<JournalRecord, void, undefined> {
    const { from, to, signal } = range;
    try {
      for await (const stored of this.#ledger.read(journalLedgerName, { from, to, signal })) {
        yield decodeRecord(this.sessionId, stored.seq, stored.data);
      }
    } catch (error) {
      throw this.#renamed(error);
    }
  }

  /** Damage found by the ledger is damage of this session. */
  #renamed(error: unknown): unknown {
    if (!JournalCorruptError.is(error) || error.subject === this.sessionId) return error;
    return new JournalCorruptError(this.sessionId, error.kind, { seq: error.seq, cause: error });
  }

  async #fetch(seq: number, pointer: JsonValue, signal: AbortSignal | undefined): Promise<JsonValue> {
    const { key, size, sha256 } = this.#pointer(seq, pointer);
    const damaged = (
      kind: 'body-missing' | 'body-mismatch' | 'undecodable',
      cause?: unknown,
    ): JournalCorruptError =>
      new JournalCorruptError(this.sessionId, kind, { seq, cause, detail: `object ${key}` });
    let bytes: Uint8Array;
    try {
      const object = await this.#blobs.get(key, { signal });
      if (object.size !== size) throw damaged('body-mismatch');
      bytes = await object.bytes();
    } catch (error) {
      // By code, not by class: nobody who keeps a journal should pay for loading a blob store.
      const code = isHoldfastError(error) ? (error.code as BlobsErrorCode) : undefined;
      if (code === 'BLOBS_NOT_FOUND') throw damaged('body-missing', error);
      if (code === 'BLOBS_INTEGRITY') throw damaged('body-mismatch', error);
      throw error;
    }
    if (bytes.length !== size || sha256Hex(bytes) !== sha256) throw damaged('body-mismatch');
    try {
      return parseJsonText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    } catch (error) {
      throw damaged('undecodable', error);
    }
  }

  #pointer(seq: number, body: JsonValue): PointerBody {
    if (isObject(body)) {
      const { key, size, sha256 } = body;
      if (typeof key === 'string' && Number.isSafeInteger(size) && typeof sha256 === 'string') {
        return { key, size: size as number, sha256 };
      }
    }
    throw new JournalCorruptError(this.sessionId, 'undecodable', { seq, detail: 'a pointer without object' });
  }
}

/** What each record must continue. */
class Chain {
  readonly #sessionId: string;
  #previous: string;
  #epoch: number;

  constructor(sessionId: string, previous: string, epoch: number) {
    this.#sessionId = sessionId;
    this.#previous = previous;
    this.#epoch = epoch;
  }

  check(record: JournalRecord): void {
    if (record.previous !== this.#previous) {
      throw new JournalCorruptError(this.#sessionId, 'chain-broken', { seq: record.seq });
    }
    const rises = record.kind === 'fence' ? record.epoch > this.#epoch : record.epoch === this.#epoch;
    if (!rises) {
      throw new JournalCorruptError(this.#sessionId, 'epoch-order', {
        seq: record.seq,
        detail: `epoch ${String(record.epoch)} after ${String(this.#epoch)}`,
      });
    }
    this.#previous = record.digest;
    this.#epoch = record.epoch;
  }
}
