import { seededRandom } from '@holdfast/base/testing';
import type { TreePlan } from '@holdfast/durable/testing';

import type { CrashCase } from './crash-scenario.js';

/** Small trees that between them take every kind of step. */
export const crashCases: Readonly<Record<string, CrashCase>> = {
  'replace, create, delete': {
    old: { a: 'old', gone: 'gone', keep: 'keep' },
    target: { a: 'new', fresh: 'fresh', keep: 'keep' },
  },
  'file becomes directory, directory becomes file': {
    old: { f: 'file', 'd/': null, 'd/x': 'x' },
    target: { 'f/': null, 'f/y': 'y', d: 'now a file' },
  },
  'symlinks come, go and change': {
    old: { l: { link: 'one' }, f: 'file', m: { link: 'gone' }, 'd/': null, 'd/x': 'x' },
    target: { l: { link: 'two' }, f: { link: 'x' }, n: { link: 'new' }, d: { link: 'elsewhere' } },
  },
  'directories come and go': {
    old: { 'gone/': null, 'gone/deep/': null, 'gone/deep/x': 'x' },
    target: { 'fresh/': null, 'fresh/deep/': null, 'fresh/deep/y': 'y' },
  },
  modes: {
    old: { a: 'a', 'd/': null, 'd/x': 'old' },
    target: { a: 'a', 'd/': null, 'd/x': 'new' },
    modes: { old: { a: 0o600, d: 0o500 }, target: { a: 0o755, d: 0o555 } },
  },
  'kept but not yet durable': {
    old: { a: 'old' },
    target: { a: 'new', young: 'young' },
    dirty: { young: 'young' },
  },
};

/** A pair of small trees that share names, so that every type change occurs over the seeds. */
export function generatedCase(seed: number): CrashCase {
  const random = seededRandom(seed);
  const tree = (): TreePlan => {
    const plan: Record<string, string | { link: string } | null> = {};
    const fill = (prefix: string, depth: number): void => {
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
  };
  return { old: tree(), target: tree() };
}
