import { concatBytes, equalBytes, sha256, toHex } from '@holdfast/base';

/** What one append stored: as a message, and for large ones as further messages with its content. */
export interface AppendFrame {
  /** Of the ledger: another one after it was deleted and made anew. 16 hexadecimal digits. */
  readonly generation: string;
  /** Sequence of the first record in the ledger. */
  readonly first: number;
  /** Sequence in the stream of the append before; 0 for the first. */
  readonly previous: number;
  readonly lengths: readonly number[];
  /** Where each record begins in the content. */
  readonly starts: readonly number[];
  /** Where the content is, when it is not in the message itself. */
  readonly parts: { readonly id: string; readonly count: number } | undefined;
  /** One for each record, over its place and its bytes. */
  readonly digests: readonly Uint8Array[];
  /** The content, when it is in the message itself. */
  readonly content: Uint8Array | undefined;
}

/** `HFL1`. */
const magic = 0x48_46_4c_31;
const fixedBytes = 45;
const digestBytes = 32;
const recordBytes = 4 + digestBytes;

/** Bytes that a message needs besides its content. */
export function frameOverhead(records: number): number {
  return fixedBytes + recordBytes * records + digestBytes;
}

/** The place of each field is in `docs/formats/nats-append.md`. */
export function encodeFrame(
  facts: Pick<AppendFrame, 'generation' | 'first' | 'previous' | 'parts'>,
  records: readonly Uint8Array[],
): Uint8Array {
  const head = new Uint8Array(fixedBytes + recordBytes * records.length);
  const view = new DataView(head.buffer);
  view.setUint32(0, magic);
  view.setUint8(4, facts.parts === undefined ? 0 : 1);
  view.setBigUint64(5, BigInt(`0x${facts.generation}`));
  view.setBigUint64(13, BigInt(facts.first));
  view.setBigUint64(21, BigInt(facts.previous));
  view.setBigUint64(29, BigInt(facts.parts === undefined ? 0 : `0x${facts.parts.id}`));
  view.setUint32(37, facts.parts?.count ?? 0);
  view.setUint32(41, records.length);
  for (const [at, record] of records.entries()) {
    const place = fixedBytes + recordBytes * at;
    view.setUint32(place, record.length);
    head.set(digestOf(facts.first + at, record), place + 4);
  }
  return concatBytes([head, sha256(head), ...(facts.parts === undefined ? records : [])]);
}

/** `undefined` when the bytes are no undamaged frame. Whether its content is undamaged is told by {@link recordOf}. */
export function decodeFrame(bytes: Uint8Array): AppendFrame | undefined {
  if (bytes.length < fixedBytes + digestBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = view.getUint8(4);
  if (view.getUint32(0) !== magic || kind > 1) return undefined;
  const count = view.getUint32(41);
  const headBytes = fixedBytes + recordBytes * count;
  if (count === 0 || bytes.length < headBytes + digestBytes) return undefined;
  const found = bytes.subarray(headBytes, headBytes + digestBytes);
  if (!equalBytes(sha256(bytes.subarray(0, headBytes)), found)) return undefined;
  let end = 0;
  const places = Array.from({ length: count }, (_, at) => fixedBytes + recordBytes * at);
  const lengths = places.map((place) => view.getUint32(place));
  return {
    generation: toHex(bytes.subarray(5, 13)),
    first: Number(view.getBigUint64(13)),
    previous: Number(view.getBigUint64(21)),
    lengths,
    starts: lengths.map((length) => {
      end += length;
      return end - length;
    }),
    parts: kind === 0 ? undefined : { id: toHex(bytes.subarray(29, 37)), count: view.getUint32(37) },
    digests: places.map((place) => bytes.slice(place + 4, place + recordBytes)),
    content: kind === 0 ? bytes.subarray(headBytes + digestBytes) : undefined,
  };
}

/** The record `seq` out of the content of its append; `undefined` when it is damaged. */
export function recordOf(frame: AppendFrame, content: Uint8Array, seq: number): Uint8Array | undefined {
  const at = seq - frame.first;
  const start = frame.starts[at] ?? 0;
  const record = content.subarray(start, start + (frame.lengths[at] ?? 0));
  const digest = frame.digests[at];
  if (digest === undefined || record.length !== frame.lengths[at]) return undefined;
  return equalBytes(digest, digestOf(seq, record)) ? record : undefined;
}

/** Sequence of the last record. */
export function lastOf(frame: AppendFrame): number {
  return frame.first + frame.lengths.length - 1;
}

function digestOf(seq: number, data: Uint8Array): Uint8Array {
  const place = new Uint8Array(8);
  new DataView(place.buffer).setBigUint64(0, BigInt(seq));
  return sha256(concatBytes([place, data]));
}
