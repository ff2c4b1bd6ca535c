import * as fs from 'node:fs';
import * as path from 'node:path';

import { decodePathText } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import { nodeFileSystem } from '@holdfast/durable';
import type { TreeChange } from '@holdfast/workspacestore';
import { canonicalOrder, generateTree, type TreeNode, writeTree } from '@holdfast/workspacestore/testing';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { remove, temporaryDirectory } from './support/temporary.js';
import { describeNodes } from './support/walk.js';

let top: string;
let root: string;

beforeEach(() => {
  top = temporaryDirectory();
  root = path.join(top, 'root');
  fs.mkdirSync(root);
});

const at = (name: string): string => path.join(root, name);
const short = (changes: readonly TreeChange[]): string[] =>
  changes.map(
    ({ change, path: where, from }) => `${change} ${from === undefined ? '' : `${from} > `}${where}`,
  );

describe('diff', () => {
  test('names every kind of change, and renames by content', async () => {
    for (const name of ['same', 'edited', 'gone', 'old-name', 'mode', 'type'])
      fs.writeFileSync(at(name), `${name}\n`);
    fs.mkdirSync(at('dir'));
    fs.writeFileSync(at('dir/inner'), 'x');
    fs.symlinkSync('a', at('link'));
    await withStore(memoryBlobs(), async (store) => {
      const first = await store.snapshot(root);
      fs.writeFileSync(at('edited'), 'other');
      fs.rmSync(at('gone'));
      fs.renameSync(at('old-name'), at('new-name'));
      fs.chmodSync(at('mode'), 0o600);
      fs.rmSync(at('type'));
      fs.mkdirSync(at('type'));
      fs.rmSync(at('dir'), { recursive: true });
      fs.rmSync(at('link'));
      fs.symlinkSync('b', at('link'));
      fs.writeFileSync(at('added'), 'new');
      const expected = [
        'added added',
        'removed dir',
        'removed dir/inner',
        'modified edited',
        'removed gone',
        'modified link',
        'mode mode',
        'renamed old-name > new-name',
        'type type',
      ];
      const live = await store.diffLive(root, first.ref);
      expect(short(live.changes)).toEqual(expected);
      const second = await store.snapshot(root, { base: first.ref });
      const { changes, uncovered } = await store.diff(first.ref, second.ref);
      expect(short(changes)).toEqual(expected);
      expect(uncovered).toEqual([]);
      expect(changes.find((change) => change.path === 'mode')).toEqual({
        change: 'mode',
        path: 'mode',
        before: { path: 'mode', kind: 'file', mode: 0o644, size: 5 },
        after: { path: 'mode', kind: 'file', mode: 0o600, size: 5 },
      });
      expect(short((await store.diff(first.ref, second.ref, { renames: false })).changes)).toContain(
        'added new-name',
      );
      expect(await store.diff(second.ref, second.ref)).toEqual({ changes: [], uncovered: [] });
    });
  });

  test('never takes what was left out for what is gone', async () => {
    fs.writeFileSync(at('small'), '1');
    fs.writeFileSync(at('big'), Buffer.alloc(5000));
    fs.mkdirSync(at('build'));
    fs.writeFileSync(at('build/out'), 'o');
    await withStore(memoryBlobs(), async (store) => {
      const all = await store.snapshot(root);
      const part = await store.snapshot(root, { limits: { fileBytes: 100 }, ignore: ['build/'] });
      const { changes, uncovered } = await store.diff(all.ref, part.ref);
      expect(changes).toEqual([]);
      expect(uncovered.map((row) => row.path)).toEqual(['big', 'build', 'build/out']);
      expect((await store.diffLive(root, part.ref)).uncovered.map((row) => row.path)).toEqual(['big']);
    });
  });

  test('applied to the first tree gives the second one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 2 ** 31 }),
        fc.integer({ min: 0, max: 2 ** 31 }),
        async (one, two) => {
          const before = canonicalOrder(generateTree(one, { nodes: 25 }));
          // The second tree shares names and content with the first one.
          const after = canonicalOrder(mix(before, generateTree(two, { nodes: 10 }), two));
          await withStore(memoryBlobs(), async (store) => {
            const refs = [];
            for (const [name, nodes] of [
              ['before', before],
              ['after', after],
            ] as const) {
              const directory = path.join(top, name);
              fs.mkdirSync(directory);
              writeTree(nodeFileSystem(), directory, nodes);
              refs.push((await store.snapshot(directory)).ref);
            }
            const { changes } = await store.diff(refs[0] as never, refs[1] as never);
            expect(apply(before, after, changes)).toEqual(describeNodes(after));
            const live = await store.diffLive(path.join(top, 'after'), refs[0] as never);
            expect(live.changes).toEqual(changes);
          });
          for (const name of ['before', 'after']) remove(path.join(top, name));
        },
      ),
      { numRuns: 25 },
    );
  });
});

/** Keeps most of a tree, drops some of it, and adds what fits of another one. */
function mix(nodes: readonly TreeNode[], more: readonly TreeNode[], seed: number): TreeNode[] {
  const kept = new Map<string, TreeNode>();
  const fits = (node: TreeNode): boolean => {
    const text = Buffer.from(node.path).toString('latin1');
    const parent = text.slice(0, Math.max(0, text.lastIndexOf('/')));
    return !kept.has(text) && (parent === '' || kept.get(parent)?.kind === 'directory');
  };
  for (const [position, node] of nodes.entries()) {
    if ((position * 7 + seed) % 5 !== 0 && fits(node))
      kept.set(Buffer.from(node.path).toString('latin1'), node);
  }
  for (const node of more) if (fits(node)) kept.set(Buffer.from(node.path).toString('latin1'), node);
  return [...kept.values()];
}

function apply(
  before: readonly TreeNode[],
  after: readonly TreeNode[],
  changes: readonly TreeChange[],
): string[] {
  const key = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
  const tree = new Map(before.map((node) => [key(node.path), node]));
  const source = new Map(after.map((node) => [key(node.path), node]));
  for (const { change, path: where, from } of changes) {
    const target = key(decodePathText(where));
    if (from !== undefined) tree.delete(key(decodePathText(from)));
    if (change === 'removed') tree.delete(target);
    else tree.set(target, source.get(target) as TreeNode);
  }
  return describeNodes([...tree.values()]);
}
