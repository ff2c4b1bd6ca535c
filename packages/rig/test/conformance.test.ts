import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${repository}/docs/seeds-conformance.md`, 'utf8');

interface Statement {
  readonly number: string;
  /** Places of the implementation, below `packages/`. */
  readonly places: readonly string[];
  readonly proofs: readonly { readonly file: string; readonly title: string }[];
}

function statements(): readonly Statement[] {
  const rows = page.split('\n').filter((line) => /^\| [PR]\d+ \|/.test(line));
  return rows.map((row) => {
    const cells = row.split(' | ');
    const proofs = (cells.at(-1) ?? '').replace(/ \|$/, '').split('<br>');
    return {
      number: (cells[0] ?? '').replace('| ', ''),
      places: [...(cells[2] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] as string),
      proofs: proofs.map((proof) => {
        const match = /^`([^`]+)` › (.+?)(?: ★)?$/.exec(proof.trim());
        if (match === null) throw new Error(`${row}: ${proof} is not "file › title"`);
        return { file: match[1] as string, title: match[2] as string };
      }),
    };
  });
}

/** The titles of the tests of a file that run. */
function titlesOf(file: string): ReadonlySet<string> {
  const source = readFileSync(`${repository}/${file}`, 'utf8');
  const titles = new Set<string>();
  for (const match of source.matchAll(/^\s*it(\.each\([^]*?\))?\(\s*(['"`])((?:\\.|(?!\2).)*)\2/gm)) {
    titles.add((match[3] as string).replaceAll("\\'", "'"));
  }
  return titles;
}

describe('the conformance page', () => {
  const all = statements();

  it('numbers its statements without a gap', () => {
    const of = (letter: string): number[] =>
      all.filter(({ number }) => number.startsWith(letter)).map(({ number }) => Number(number.slice(1)));
    for (const letter of ['P', 'R']) {
      const numbers = of(letter);
      expect(numbers.length).toBeGreaterThan(20);
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    }
  });

  it.each(all)('names places that exist: $number', ({ places }) => {
    for (const place of places) expect(existsSync(`${repository}/packages/${place}`), place).toBe(true);
  });

  it.each(all)('names tests that exist: $number', ({ proofs }) => {
    expect(proofs.length).toBeGreaterThan(0);
    for (const { file, title } of proofs) expect(titlesOf(file), file).toContain(title);
  });
});
