import { seededRandom } from '@holdfast/base/testing';
import { readTree, writeTree } from '@holdfast/durable/testing';

/** @typedef {import('@holdfast/durable').FileSystem} FileSystem */
/** @typedef {import('@holdfast/durable/testing').TreePlan} TreePlan */

/**
 * A small tree; two of them share names, so that every kind of change between them occurs over the seeds.
 * @param {number} seed
 * @returns {TreePlan}
 */
export function smallTree(seed) {
  const random = seededRandom(seed);
  /** @type {Record<string, string | { link: string } | null>} */
  const plan = { anchor: `anchor ${seed}` };
  /** @param {string} prefix @param {number} depth */
  const fill = (prefix, depth) => {
    for (const name of ['a', 'b', 'c']) {
      const path = `${prefix}${name}`;
      const kind = random.below(depth === 0 ? 5 : 4);
      if (kind === 0) plan[path] = `${path} ${random.below(2)}`;
      else if (kind === 1) plan[path] = { link: `to ${random.below(2)}` };
      else if (kind >= 3 && depth < 2) {
        plan[`${path}/`] = null;
        fill(`${path}/`, depth + 1);
      }
    }
  };
  fill('', 0);
  return plan;
}

/**
 * Makes a directory hold exactly a tree.
 * @param {FileSystem} fileSystem
 * @param {string} path Exists.
 * @param {TreePlan} plan
 */
export function becomeTree(fileSystem, path, plan) {
  clear(fileSystem, path);
  writeTree(fileSystem, path, plan);
}

/** @param {FileSystem} fileSystem @param {string} path */
function clear(fileSystem, path) {
  const dir = fileSystem.openRoot(path);
  for (const name of fileSystem.readdir(dir)) {
    if (fileSystem.lstat(dir, name)?.kind === 'directory') {
      clear(fileSystem, `${path}/${Buffer.from(name).toString()}`);
      fileSystem.rmdir(dir, name);
    } else fileSystem.unlink(dir, name);
  }
  fileSystem.close(dir);
}

/**
 * What is below a directory, as text; `undefined` when it is not there.
 * @param {FileSystem} fileSystem
 * @param {string} path
 */
export function treeAt(fileSystem, path) {
  const cut = path.lastIndexOf('/');
  const parent = fileSystem.openRoot(path.slice(0, cut));
  const there = fileSystem.lstat(parent, Buffer.from(path.slice(cut + 1))) !== undefined;
  fileSystem.close(parent);
  return there ? readTree(fileSystem, path) : undefined;
}
