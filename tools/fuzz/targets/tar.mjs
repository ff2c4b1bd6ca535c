import { memoryBlobs } from '@holdfast/blobs';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { goldenFile } from '@holdfast/workspacestore/testing';

/** @typedef {import('../target.mjs').Target} Target */

const blockBytes = 512;

/** Computes the sums of what may be headers. @param {Buffer} bytes @param {import('@holdfast/base/testing').SeededRandom} random */
function mendSums(bytes, random) {
  if (random.below(5) === 0) return bytes;
  for (let at = 0; at + blockBytes <= bytes.length; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes);
    if (block.toString('latin1', 257, 262) !== 'ustar') continue;
    block.write('        ', 148, 'latin1');
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
  return bytes;
}

/** @param {string} name @param {string} type @param {string | Uint8Array} [content] @param {string} [link] */
function member(name, type, content = '', link = '') {
  const body = Buffer.from(content);
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, 100, 'latin1');
  header.write('0000644\u00000000000\u00000000000\0', 100, 'latin1');
  header.write(`${body.length.toString(8).padStart(11, '0')}\u000000000000000\0`, 124, 'latin1');
  header.write('        ', 148, 'latin1');
  header.write(type, 156, 'latin1');
  header.write(link, 157, 100, 'latin1');
  header.write('ustar\u000000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, body, Buffer.alloc((blockBytes - (body.length % blockBytes)) % blockBytes)]);
}

const end = Buffer.alloc(2 * blockBytes);

function seeds() {
  const long = `${'d'.repeat(90)}/${'f'.repeat(90)}`;
  return [
    Buffer.concat([
      member('a', '0', 'content'),
      member('d/', '5'),
      member('d/b', '0', 'x'.repeat(600)),
      member('l', '2', '', 'd/b'),
      end,
    ]),
    Buffer.concat([member('pax', 'x', `${long.length + 10} path=${long}\n`), member('short', '0', 'x'), end]),
    Buffer.concat([member('./', '5'), member('./a', '0', ''), member('./h', '1', '', './a'), end]),
    Buffer.concat([
      member('pax', 'x', '12 size=700\n20 mtime=1700000000\n'),
      member('sized', '0', 'y'.repeat(700)),
      end,
    ]),
    Buffer.concat([member('././@LongLink', 'L', `${long}\0`), member('l', '0', 'z'), end]),
  ];
}

/** @param {Uint8Array} bytes */
async function* stream(bytes) {
  for (let at = 0; at < bytes.length; at += 700) yield await Promise.resolve(bytes.subarray(at, at + 700));
}

const limits = { entries: 50, totalBytes: 2 ** 20 };

/** @type {Target} */
export const tarImport = {
  name: 'tar-import',
  what: 'a tar file, imported into a store',
  seeds,
  mend: mendSums,
  share: 0.1,
  run: async (bytes) => {
    const store = await WorkspaceStore.open(memoryBlobs(), { threads: false });
    try {
      await store.importTar(stream(bytes), { limits });
    } finally {
      await store.close();
    }
  },
};

/** @type {Target} */
export const tarReader = {
  name: 'tar-reader',
  what: 'a tar file, read strictly',
  seeds,
  mend: mendSums,
  run: async (bytes) => {
    const { readStrictTar } = await import(
      '../../../packages/workspacestore/dist/internal/tar/strict-tar.js'
    );
    let entries = 0;
    for await (const entry of readStrictTar(stream(bytes))) {
      let length = 0;
      for await (const piece of entry.content) length += piece.length;
      if (length !== entry.size) throw new Error(`an entry of ${entry.size} bytes gave ${length}`);
      if ((entries += 1) > bytes.length) throw new Error('more entries than bytes');
    }
  },
};

/** @type {Target} */
export const archiveTail = {
  name: 'archive-tail',
  what: 'the end of an archive of ours: members and index',
  seeds: () => {
    const archives = /** @type {{ bytes: string, tail: number }[]} */ (goldenFile('archives.json'));
    return archives.map(({ bytes, tail }) => Buffer.from(bytes, 'hex').subarray(tail));
  },
  mend: mendSums,
  allowed: ['FormatFault'],
  run: async (bytes) => {
    const { openTail } = await import('../../../packages/workspacestore/dist/internal/archive-tail.js');
    openTail(bytes, 2048);
  },
};
