import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type RunResult, run } from '../shared/process.mjs';

const program = fileURLToPath(new URL('demo.mjs', import.meta.url));
const spoil = pathToFileURL(fileURLToPath(new URL('fixtures/spoil.mjs', import.meta.url))).href;

let place: string;

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'holdfast-demo-test-'));
  writeFileSync(path.join(place, 'only.txt'), 'a small tree\n');
});

afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

async function demo(env: Record<string, string>): Promise<RunResult> {
  const temporary = mkdtempSync(path.join(tmpdir(), 'holdfast-demo-test-'));
  try {
    const result = await run(process.execPath, [program, '--tree', place], {
      env: { ...process.env, TMPDIR: temporary, ...env },
    });
    expect(readdirSync(temporary).filter((name) => name.startsWith('holdfast-demo-'))).toEqual([]);
    return result;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

describe('the demo', () => {
  it('proves both placements on a tree of somebody, and leaves nothing behind', async () => {
    const { code, output } = await demo({});
    expect(code, output).toBe(0);
    expect(output.match(/equal byte for byte/g)?.length).toBeGreaterThanOrEqual(4);
    expect(readdirSync(place)).toEqual(['only.txt']);
  });

  it.each(['fixed', 'own'])('fails when a restored tree is not what was promised (%s root)', async (act) => {
    const { code, output } = await demo({ NODE_OPTIONS: `--import=${spoil}`, SPOIL_ACT: act });
    expect(code, output).toBe(1);
    expect(output).toMatch(/FAILED: Error: the oracle sees 1 differences after the restore/);
  });
});
