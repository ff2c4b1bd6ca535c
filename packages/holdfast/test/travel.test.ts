import * as fs from 'node:fs';
import { join } from 'node:path';

import { type SeededRandom, seededRandom } from '@holdfast/base/testing';
import type { LocalRoot } from '@holdfast/cli';
import type { Ref } from '@holdfast/workspacestore';
import { openLocal } from 'holdfast';
import { expect, it } from 'vitest';

import { temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/* Random trees over the real store on the real disk: any snapshot can be gone back to, and every going back undone. */

const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const rounds = Number(process.env['HOLDFAST_TRAVELS'] ?? 25);

const names = ['a', 'b', 'c', 'ä', 'n'.repeat(250), ' x ', '-rf', '.git', 'B'].map((name) =>
  Buffer.from(name),
);
names.push(Buffer.from([0x80, 0xff]), Buffer.from('line\nbreak'));

const at = (directory: Buffer, name: Buffer): Buffer => Buffer.concat([directory, Buffer.from('/'), name]);

/** Changes a directory at random, in a few places. */
function disturb(random: SeededRandom, directory: Buffer, depth = 0): void {
  for (let step = 0; step < 4; step += 1) {
    const path = at(directory, random.pick(names));
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    const draw = random.below(10);
    if (found?.isDirectory() === true && draw < 6 && depth < 4) {
      disturb(random, path, depth + 1);
      continue;
    }
    if (found?.isFile() === true && draw === 0) {
      fs.chmodSync(path, random.pick([0o644, 0o600, 0o755, 0o444]));
      continue;
    }
    if (found?.isFile() === true && draw === 1) {
      fs.appendFileSync(path, 'more');
      continue;
    }
    fs.rmSync(path, { recursive: true, force: true });
    if (draw < 4) fs.writeFileSync(path, String(random.below(3)).repeat(random.pick([0, 1, 100, 70_000])));
    else if (draw < 6) fs.symlinkSync(random.pick(['a', '../..', '/etc/passwd', 'nowhere']), path);
    else if (draw < 9 && depth < 4) {
      fs.mkdirSync(path, { mode: random.pick([0o755, 0o700]) });
      disturb(random, path, depth + 1);
    }
  }
}

async function travel(local: LocalRoot, random: SeededRandom, seed: number): Promise<void> {
  const root = Buffer.from(local.root);
  const known = new Map<Ref, unknown>();
  for (let round = 0; round < rounds; round += 1) {
    const where = `HOLDFAST_SEED=${seed}, round ${round}`;
    disturb(random, root);
    const before = treeRows(local.root);
    if (known.size < 2 || random.below(3) === 0) {
      const { ref } = await local.snapshot();
      known.set(ref, before);
      expect(treeRows(local.root), where).toEqual(before);
      continue;
    }
    const [ref, wanted] = random.pick([...known]);
    const receipt = await local.restore(ref, { prune: 'exact' });
    expect(treeRows(local.root), where).toEqual(wanted);
    expect([receipt.exact, receipt.omitted, receipt.notes], where).toEqual([true, [], undefined]);
    if (receipt.safetyRef === undefined) throw new Error(`${where}: there is no safety checkpoint`);
    if (random.below(2) === 0) continue;
    await local.restore(receipt.safetyRef, { prune: 'exact' });
    expect(treeRows(local.root), where).toEqual(before);
  }
}

it('goes back to any snapshot and undoes it, whatever happened to the tree', {
  timeout: 600_000,
}, async () => {
  for (let seed = firstSeed; seed < firstSeed + 2; seed += 1) {
    using temporary = temporaryDirectory();
    const root = join(fs.realpathSync(temporary.path), 'ws');
    fs.mkdirSync(root);
    await using stack = await openLocal(join(temporary.path, 'home'));
    await using local = await stack.openRoot(root);
    await travel(local, seededRandom(seed), seed);
    expect(fs.readdirSync(temporary.path).sort()).toEqual(['home', 'ws']);
  }
});
