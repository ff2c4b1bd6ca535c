import { ArchiveEntryError, type ArchiveEntryReason } from '../../errors.js';

/** What extended headers say about the entry that follows. */
export interface PaxFacts {
  readonly path?: Uint8Array | undefined;
  readonly linkPath?: Uint8Array | undefined;
  readonly size?: number | undefined;
  /** Keys that were dropped. */
  readonly dropped: readonly string[];
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const inert = new Set(['atime', 'ctime', 'mtime', 'uid', 'gid', 'uname', 'gname', 'comment']);
const times = new Set(['atime', 'ctime', 'mtime']);

/**
 * Reads the records of an extended header, `<length> <key>=<value>\n` without any leeway, every key at most once.
 * Vendor keys are dropped and named; sparse files, other character sets and unknown keys are refused.
 */
export function readPaxRecords(bytes: Uint8Array, entry: string): PaxFacts {
  const refuse = (reason: ArchiveEntryReason, detail: string): never => {
    throw new ArchiveEntryError(entry, reason, detail);
  };
  const facts: { path?: Uint8Array; linkPath?: Uint8Array; size?: number; dropped: string[] } = {
    dropped: [],
  };
  const seen = new Set<string>();
  for (const { key, value } of splitRecords(bytes, refuse)) {
    if (seen.has(key)) refuse('malformed', `its extended header has ${JSON.stringify(key)} twice`);
    seen.add(key);
    const text = decode(value) ?? refuse('name-not-utf8', `the value of ${JSON.stringify(key)} is not UTF-8`);
    if (key === 'path') facts.path = value;
    else if (key === 'linkpath') facts.linkPath = value;
    else if (key === 'size') facts.size = parseSize(text) ?? refuse('malformed', 'a size that is not one');
    else if (key === 'hdrcharset') {
      if (text !== 'ISO-IR 10646 2000 UTF-8')
        refuse('name-not-utf8', `character set ${JSON.stringify(text)}`);
    } else if (key.startsWith('GNU.sparse.')) refuse('type-unsupported', 'a sparse file');
    else if (times.has(key) && !/^\d{1,15}(\.\d{1,30})?$/.test(text))
      refuse('metadata-range', `${key} out of range`);
    else if (/^[A-Z][A-Za-z0-9]*\./.test(key)) facts.dropped.push(key);
    else if (!inert.has(key)) refuse('malformed', `unknown key ${JSON.stringify(key.slice(0, 100))}`);
  }
  return facts;
}

function* splitRecords(
  bytes: Uint8Array,
  refuse: (reason: ArchiveEntryReason, detail: string) => never,
): Generator<{ key: string; value: Uint8Array }> {
  for (let at = 0; at < bytes.length; ) {
    const head = /^([1-9]\d{0,6}) /.exec(Buffer.from(bytes.subarray(at, at + 9)).toString('latin1'));
    const length = head === null ? 0 : Number(head[1]);
    const record = bytes.subarray(at + (head?.[0].length ?? 0), at + length);
    const equals = record.indexOf(0x3d);
    if (head === null || at + length > bytes.length || record.at(-1) !== 0x0a || equals < 1) {
      return refuse('malformed', 'a broken record in its extended header');
    }
    const key = decode(record.subarray(0, equals)) ?? refuse('malformed', 'a key that is not UTF-8');
    const value = record.subarray(equals + 1, -1);
    if (value.includes(0))
      refuse(key === 'path' || key === 'linkpath' ? 'name-invalid' : 'malformed', 'a NUL in a value');
    yield { key, value };
    at += length;
  }
}

function parseSize(text: string): number | undefined {
  const size = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined;
  return size !== undefined && Number.isSafeInteger(size) ? size : undefined;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
