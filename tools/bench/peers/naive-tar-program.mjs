/** Packs a directory into a tar.gz, or extracts one, the obvious way: node naive-tar-program.mjs pack|extract FROM TO */
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';

import tar from 'tar-stream';

/**
 * @param {string} root
 * @param {string} archive
 */
async function pack(root, archive) {
  const stream = tar.pack();
  const writing = pipeline(stream, createGzip(), createWriteStream(archive));
  /** @param {string} relative */
  const add = async (relative) => {
    const children = await readdir(path.join(root, relative));
    for (const child of children.sort()) {
      const name = relative === '' ? child : `${relative}/${child}`;
      const file = path.join(root, name);
      const stat = await lstat(file);
      const header = { name, mode: stat.mode & 0o777, mtime: new Date(0) };
      if (stat.isDirectory()) {
        stream.entry({ ...header, type: 'directory' });
        await add(name);
      } else if (stat.isSymbolicLink()) {
        stream.entry({ ...header, type: 'symlink', linkname: await readlink(file) });
      } else if (stat.isFile()) {
        await pipeline(createReadStream(file), stream.entry({ ...header, size: stat.size }));
      }
    }
  };
  await add('');
  stream.finalize();
  await writing;
}

/**
 * @param {string} archive
 * @param {string} root
 */
async function extract(archive, root) {
  const stream = tar.extract();
  stream.on('entry', (header, content, next) => {
    const target = path.join(root, header.name);
    const write = async () => {
      if (header.type === 'directory') await mkdir(target, { recursive: true });
      else if (header.type === 'symlink') await symlink(/** @type {string} */ (header.linkname), target);
      else await pipeline(content, createWriteStream(target, { mode: header.mode ?? 0o644 }));
      content.resume();
    };
    write().then(() => next(), next);
  });
  await mkdir(root, { recursive: true });
  await pipeline(createReadStream(archive), createGunzip(), stream);
}

const [command, from = '', to = ''] = process.argv.slice(2);
if (command === 'pack') await pack(from, to);
else await extract(from, to);
