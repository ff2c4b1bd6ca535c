import { type Ref, tryParseRef } from '../ref.js';
import type { ArchiveRef } from './record.js';
import { StatTable } from './stat-table.js';

/** A root's state as it is saved. */
export interface SavedState {
  readonly store: string;
  readonly path: string;
  readonly ino: bigint;
  readonly birthtimeNs: bigint;
  readonly table: StatTable;
  readonly ref: Ref;
  readonly hold: string;
  readonly archives: readonly ArchiveRef[];
}

/** Not a format that anybody has to read later: another version, like damage, means starting over. */
const version = 'holdfast-stat-index/1';

/** One line of JSON, then the columns of the table. */
export function encodeState(state: SavedState): Uint8Array[] {
  const { store, path, ino, birthtimeNs, table, ref, hold, archives } = state;
  const head = JSON.stringify({
    version,
    store,
    path,
    ino: String(ino),
    birthtimeNs: String(birthtimeNs),
    ref,
    hold,
    archives,
    rows: table.rows,
  });
  return [Buffer.from(`${head}\n`), ...table.toParts().buffers];
}

/** Whose state it is. */
export type SavedHead = Pick<SavedState, 'store' | 'path' | 'ino' | 'birthtimeNs'>;

/** Reads whose state `encodeState` wrote; `undefined` for anything else. */
export function decodeHead(bytes: Uint8Array): SavedHead | undefined {
  const head = parseHead(bytes)?.head;
  if (head?.['version'] !== version) return undefined;
  const { store, path, ino, birthtimeNs } = head;
  const isNumber = (value: unknown): value is string => typeof value === 'string' && /^-?\d+$/.test(value);
  if (typeof store !== 'string' || typeof path !== 'string' || !isNumber(ino) || !isNumber(birthtimeNs)) {
    return undefined;
  }
  return { store, path, ino: BigInt(ino), birthtimeNs: BigInt(birthtimeNs) };
}

function parseHead(bytes: Uint8Array): { head: Record<string, unknown>; end: number } | undefined {
  const end = bytes.indexOf(0x0a);
  if (end === -1) return undefined;
  try {
    const head: unknown = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString());
    return typeof head === 'object' && head !== null
      ? { head: head as Record<string, unknown>, end }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Reads what `encodeState` wrote, for one root of one store; `undefined` for anything else. */
export function decodeState(bytes: Uint8Array, wanted: SavedHead): SavedState | undefined {
  const parsed = parseHead(bytes);
  if (parsed === undefined) return undefined;
  const { head, end } = parsed;
  const ref = tryParseRef(head['ref']);
  const { hold, archives, rows } = head;
  if (
    head['version'] !== version ||
    head['store'] !== wanted.store ||
    head['path'] !== wanted.path ||
    head['ino'] !== String(wanted.ino) ||
    head['birthtimeNs'] !== String(wanted.birthtimeNs) ||
    ref === undefined ||
    typeof hold !== 'string' ||
    !Array.isArray(archives) ||
    typeof rows !== 'number'
  ) {
    return undefined;
  }
  const table = StatTable.fromBytes(rows, bytes.subarray(end + 1));
  return table === undefined
    ? undefined
    : { ...wanted, table, ref, hold, archives: archives as ArchiveRef[] };
}
