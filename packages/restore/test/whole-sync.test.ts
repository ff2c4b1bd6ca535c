import { mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type RestoreStrategy, reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { bench, temporaryDirectory } from './support/bench.js';

const strategies = { reconcile: reconcile(), swap: swap({ fallback: false }) };

describe.runIf(process.platform === 'linux')('a whole sync', () => {
  for (const [label, strategy] of Object.entries(strategies)) {
    for (const scratch of label === 'swap' ? (['sibling'] as const) : (['sibling', 'inside'] as const)) {
      it(`is of the disk that the root is on, whatever its path leads to: ${label}, scratch ${scratch}`, async () => {
        const top = temporaryDirectory();
        const base = join(top, 'base');
        mkdirSync(join(base, 'root'), { recursive: true });
        writeFileSync(join(base, 'root/a'), 'old');
        const b = bench(undefined, base);
        const ref = b.source.define({ a: { kind: 'file', content: 'new' } });
        let synced = 0;
        const raced: RestoreStrategy = {
          ...strategy,
          secure: async (context) => {
            renameSync(base, join(top, 'moved'));
            symlinkSync('nowhere', base);
            try {
              await context.wholeSync?.sync();
              synced += 1;
            } finally {
              unlinkSync(base);
              renameSync(join(top, 'moved'), base);
            }
            return await strategy.secure(context);
          },
        };
        await b.restore(ref, { strategy: raced, scratch });
        expect(synced).toBe(1);
        expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('new');
      });
    }
  }
});
