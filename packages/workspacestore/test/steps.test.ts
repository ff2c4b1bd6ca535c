import * as fs from 'node:fs';
import * as path from 'node:path';

import { systemClock } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import type { WorkspaceStore } from '@holdfast/workspacestore';
import { expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

const seed = Number(process.env['HOLDFAST_SEED'] ?? Date.now() % 1_000_000);
/** Rows learned a moment ago count as settled; every edit below changes a size, an inode or a name. */
const clock = { ...systemClock, now: () => Date.now() + 10_000 };
const limits = { fileBytes: 5_000 };

/** Everything below a directory but the directory itself, directories before what is in them. */
function below(directory: string): fs.Dirent[] {
  return fs.readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const inside = entry.isDirectory() ? below(path.join(directory, entry.name)) : [];
    return [entry, ...inside];
  });
}

/** One change of a tree, of any kind that moves rows of a stat table, takes one out or makes a row one of another kind. */
function edit(root: string, number: number, draw: (most: number) => number): void {
  const all = below(root).map((entry) => path.join(entry.parentPath, entry.name));
  const directories = [root, ...all.filter((file) => fs.lstatSync(file).isDirectory())];
  const others = all.filter((file) => !fs.lstatSync(file).isDirectory());
  const directory = directories[draw(directories.length)] as string;
  const victim = others[draw(others.length)] as string;
  const kinds: (() => void)[] = [
    // Names that come first move everything behind them; long ones fill the memory of names.
    () => fs.writeFileSync(path.join(directory, `!${number}${'n'.repeat(draw(200))}`), `new ${number}`),
    () => fs.mkdirSync(path.join(directory, `d${number}`)),
    () => fs.symlinkSync(`target ${number} ${'t'.repeat(draw(300))}`, path.join(directory, `~${number}`)),
    () => fs.renameSync(victim, path.join(directory, `r${number}`)),
    () => fs.rmSync(victim),
    // Left out without a change of its directory, and back.
    () => fs.existsSync(victim) && fs.lstatSync(victim).isFile() && fs.truncateSync(victim, 5_001 + number),
    () => fs.lstatSync(victim).isFile() && fs.truncateSync(victim, number),
    () => fs.lstatSync(victim).isFile() && fs.chmodSync(victim, 0o600 + draw(64)),
    () => {
      fs.rmSync(victim);
      if (number % 2 === 0) fs.mkdirSync(victim);
      else fs.symlinkSync('elsewhere', victim);
    },
    () => {
      if (directory !== root) fs.rmSync(directory, { recursive: true });
    },
  ];
  if (others.length > 0 || number % 3 === 0) kinds[draw(others.length > 0 ? kinds.length : 3)]?.();
}

test('what is learned step by step is what a store that knows nothing sees', async () => {
  console.log(`HOLDFAST_SEED=${seed}`);
  const random = seededRandom(seed);
  const root = path.join(temporaryDirectory(), 'root');
  for (let i = 0; i < 120; i += 1) {
    const directory = path.join(root, `a${i % 4}`, `b${i % 12}`);
    fs.mkdirSync(directory, { recursive: true });
    fs.writeFileSync(path.join(directory, `f${i}`), `content ${i}`);
  }
  let number = 0;
  await withStore(memoryBlobs(), { clock, limits }, async (store: WorkspaceStore) => {
    for (let round = 0; round < 150; round += 1) {
      for (let left = random.below(5); left > 0; left -= 1) {
        number += 1;
        edit(root, number, (most) => random.below(most));
      }
      const { ref } = await store.snapshot(root);
      const found = await store.scan(root);
      const alone = await withStore(memoryBlobs(), { clock, limits }, (fresh) => fresh.scan(root));
      expect({ round, ...found }).toEqual({ round, ...alone });
      expect((await store.openTree(ref)).treeKey).toBe(alone.treeKey);
    }
  });
});
