import { encodePathText } from '@holdfast/base';

import { ArchiveEntryError, type ArchiveEntryReason, ArchiveLimitError } from '../../errors.js';
import { isLinkTarget } from '../tree-object.js';
import { type PaxFacts, readPaxRecords } from './pax-records.js';
import { readTarHeader, type SpecialType, type TarHeader, type TarType } from './tar-header.js';
import { TarSource } from './tar-source.js';

/** An entry of a tar file that every reader sees alike. */
export interface TarEntry {
  /** Without `./` in front and `/` behind; empty for the root itself. */
  readonly path: Uint8Array;
  readonly kind: 'file' | 'hard-link' | 'symlink' | 'directory';
  /** All mode bits, set-id and sticky included. */
  readonly mode: number;
  readonly size: number;
  /** Target of a link, verbatim; for a hard link the path of an earlier entry. */
  readonly target: Uint8Array | undefined;
  /** Keys of metadata that was dropped. */
  readonly dropped: readonly string[];
  /** The content; must be read to its end before the next entry is asked for. */
  readonly content: AsyncIterable<Uint8Array>;
}

const mostHeaderBytes = 64 * 1024;
const mostEntryHeaderBytes = 128 * 1024;

/** What came before an entry's own header. */
interface Extension {
  bytes: number;
  pax: PaxFacts | undefined;
  name: Uint8Array | undefined;
  link: Uint8Array | undefined;
}

/** How compressed streams begin; no name in a tar can begin like that, because none of it is UTF-8. */
const compressions: readonly (readonly [string, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
];

function refuseCompressed(start: Uint8Array): void {
  for (const [name, magic] of compressions) {
    if (magic.every((byte, at) => start[at] === byte)) {
      const detail = `the stream is compressed with ${name}: decompress it first (${name} -dc)`;
      throw new ArchiveEntryError('', 'malformed', detail);
    }
  }
}

/**
 * Reads a plain tar stream, refusing it as a whole at the first thing that readers of tar files are known to disagree
 * about, that could lead out of the tree, or that is out of order. Paths are checked, not normalized.
 */
export async function* readStrictTar(stream: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const source = new TarSource(stream);
  let extension: Extension = { bytes: 0, pax: undefined, name: undefined, link: undefined };
  try {
    refuseCompressed(await source.peek());
    for (;;) {
      const block = await source.block('header');
      if (block === undefined) throw new ArchiveEntryError('', 'truncated', 'the stream has no end marker');
      if (block.every((byte) => byte === 0)) {
        await checkEnd(source, extension);
        return;
      }
      const header = readTarHeader(block);
      if (await extend(source, header, extension)) continue;
      const entry = combine(header, extension);
      let left = entry.size;
      yield {
        ...entry,
        content: (async function* () {
          for await (const piece of source.pieces(entry.size, encodePathText(entry.path))) {
            left -= piece.length;
            yield piece;
          }
        })(),
      };
      if (left > 0) throw new TypeError('strict tar: an entry was not read to its end');
      await source.padding(entry.size, encodePathText(entry.path));
      extension = { bytes: 0, pax: undefined, name: undefined, link: undefined };
    }
  } finally {
    await source.close();
  }
}

/** Takes a header that is about the next entry; `false` for an entry's own header. */
async function extend(source: TarSource, header: TarHeader, extension: Extension): Promise<boolean> {
  const shown = encodePathText(header.name);
  const read = async (): Promise<Uint8Array> => {
    if (header.size > mostHeaderBytes)
      throw new ArchiveLimitError('header', mostHeaderBytes, header.size, shown);
    extension.bytes += header.size;
    if (extension.bytes > mostEntryHeaderBytes) {
      throw new ArchiveLimitError('header', mostEntryHeaderBytes, extension.bytes, shown);
    }
    const bytes = await source.exactly(header.size, shown);
    await source.padding(header.size, shown);
    return bytes;
  };
  switch (header.type) {
    case 'pax':
      if (extension.pax !== undefined) refuse(shown, 'malformed', 'two extended headers in a row');
      extension.pax = readPaxRecords(await read(), shown);
      return true;
    case 'pax-global': {
      const facts = readPaxRecords(await read(), shown);
      if (facts.path !== undefined || facts.linkPath !== undefined || facts.size !== undefined) {
        refuse(shown, 'malformed', 'a global header that names or sizes entries');
      }
      return true;
    }
    case 'gnu-name':
      if (extension.name !== undefined) refuse(shown, 'malformed', 'two long names in a row');
      extension.name = longName(await read(), shown);
      return true;
    case 'gnu-link':
      if (extension.link !== undefined) refuse(shown, 'malformed', 'two long link names in a row');
      extension.link = longName(await read(), shown);
      return true;
    default:
      return false;
  }
}

/** Puts together what an entry's own header and those before it say. */
function combine(header: TarHeader, extension: Extension): Omit<TarEntry, 'content'> {
  const { pax } = extension;
  const given = pax?.path ?? extension.name ?? header.name;
  const shown = encodePathText(given.subarray(0, 4096));
  if (pax?.path !== undefined && extension.name !== undefined)
    refuse(shown, 'malformed', 'two kinds of long names');
  if (pax?.linkPath !== undefined && extension.link !== undefined)
    refuse(shown, 'malformed', 'two kinds of long link names');
  refuseSpecial(header.type, shown);
  const size = pax?.size ?? header.size;
  // A size of nothing in the header of a large file is how it is done; any other disagreement hides entries.
  if (pax?.size !== undefined && header.size !== 0 && header.size !== size)
    refuse(shown, 'malformed', 'two sizes');
  const kind = header.type as TarEntry['kind'];
  if (kind !== 'file' && size !== 0) refuse(shown, 'malformed', `a ${kind} with content`);
  const isLink = kind === 'symlink' || kind === 'hard-link';
  const link = pax?.linkPath ?? extension.link;
  if (!isLink && link !== undefined) refuse(shown, 'malformed', `a ${kind} with a link name`);
  const target = isLink ? (link ?? header.link) : undefined;
  const path = checkPath(given, kind === 'directory', shown);
  if (kind === 'symlink' && !isLinkTarget(target as Uint8Array))
    refuse(shown, 'link-forbidden', 'an illegal target');
  return {
    path,
    kind,
    mode: header.mode,
    size,
    target: kind === 'hard-link' ? checkPath(target as Uint8Array, false, shown) : target,
    dropped: pax?.dropped ?? [],
  };
}

const specialNames: Readonly<Record<SpecialType, string>> = {
  'character-device': 'a character device',
  'block-device': 'a block device',
  fifo: 'a FIFO',
};

/** Not left out silently: an archive is taken whole or not at all. */
function refuseSpecial(type: TarType, shown: string): void {
  const name = (specialNames as Readonly<Partial<Record<TarType, string>>>)[type];
  if (name === undefined) return;
  const advice =
    'make the archive without it (tar --exclude), or unpack it and snapshot the directory, which leaves such entries out and says so';
  refuse(shown, 'type-unsupported', `${name}, which no snapshot holds: ${advice}`);
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Checks a path; takes off one `./` in front and, of a directory, one `/` behind. */
function checkPath(given: Uint8Array, isDirectory: boolean, shown: string): Uint8Array {
  let text: string;
  try {
    text = decoder.decode(given);
  } catch {
    return refuse(shown, 'name-not-utf8', 'bytes that are not UTF-8');
  }
  if (text === './' && isDirectory) return new Uint8Array(0);
  let path = text.startsWith('./') ? text.slice(2) : text;
  if (isDirectory && path.endsWith('/')) path = path.slice(0, -1);
  if (path.includes('\0')) refuse(shown, 'name-invalid', 'a NUL');
  if (path.includes('\\') || /^[A-Za-z]:/.test(path))
    refuse(shown, 'name-invalid', 'a name that means something else elsewhere');
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..')
      refuse(shown, 'name-invalid', 'an empty, "." or ".." component');
  }
  return Buffer.from(path);
}

/** A long name of the GNU format ends in one NUL, at the end of its data. */
function longName(bytes: Uint8Array, shown: string): Uint8Array {
  if (bytes.length < 2 || bytes.indexOf(0) !== bytes.length - 1)
    refuse(shown, 'malformed', 'a broken long name');
  return bytes.subarray(0, -1);
}

/** One zero block was read: another one must follow, and nothing but zeros after it. */
async function checkEnd(source: TarSource, extension: Extension): Promise<void> {
  if (extension.pax !== undefined || extension.name !== undefined || extension.link !== undefined) {
    refuse('', 'malformed', 'an extended header without an entry');
  }
  const rest = await source.zerosToEnd();
  if (rest === undefined) refuse('', 'malformed', 'bytes after the end marker');
  if (rest === 0) refuse('', 'truncated', 'half an end marker');
  if ((rest as number) % 512 !== 0) refuse('', 'truncated', 'the stream ends inside a block');
}

function refuse(entry: string, reason: ArchiveEntryReason, detail: string): never {
  throw new ArchiveEntryError(entry, reason, detail);
}
