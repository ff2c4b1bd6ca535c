import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { installKey, isSupportedNode, pinnedPnpm, pruneStaleOutputs } from './setup.mjs';

const tools = fileURLToPath(new URL('.', import.meta.url));

describe('isSupportedNode', () => {
  test.each(['v20.19.0', 'v20.20.2', 'v22.0.0', '24.1.0'])('accepts %s', (version) => {
    expect(isSupportedNode(version)).toBe(true);
  });
  test.each(['v20.18.9', 'v18.20.0', 'v19.99.0'])('refuses %s', (version) => {
    expect(isSupportedNode(version)).toBe(false);
  });
});

describe('setup', () => {
  let directory = '';
  let root = '';
  let log = '';

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast setup-'));
    root = path.join(directory, 'clone');
    log = path.join(directory, 'log');
    mkdirSync(path.join(root, 'tools', 'shared'), { recursive: true });
    mkdirSync(path.join(root, 'packages', 'one'), { recursive: true });
    cpSync(path.join(tools, 'setup.mjs'), path.join(root, 'tools', 'setup.mjs'));
    const printer = path.join('shared', 'print-pnpm-directory.mjs');
    cpSync(path.join(tools, printer), path.join(root, 'tools', printer));
    writeFileSync(path.join(root, 'package.json'), '{ "packageManager": "pnpm@10.34.8" }');
    writeFileSync(path.join(root, 'packages', 'one', 'package.json'), '{ "name": "one" }');
    writeFileSync(path.join(root, 'pnpm-lock.yaml'), 'lock\n');
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  /** Puts a program on the fake search path that notes its call and runs `body`. */
  function program(place: string, name: string, body: string): void {
    const file = path.join(directory, place, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> "${log}"\n${body}\n`);
    chmodSync(file, 0o755);
  }

  /** A pnpm whose install makes what the real one makes. */
  function fakePnpm(place: string, version: string): void {
    const turbo = path.join(root, 'node_modules', '.bin', 'turbo');
    program(
      place,
      'pnpm',
      `case "$1" in
--version) echo ${version} ;;
install) mkdir -p "${path.dirname(turbo)}"; : > "${root}/node_modules/.modules.yaml"
  printf '#!/bin/sh\\necho "turbo $1 $2 telemetry=$TURBO_TELEMETRY_DISABLED" >> "${log}"\\n[ ! -e "${root}/broken" ]\\n' > "${turbo}"
  chmod 755 "${turbo}" ;;
esac`,
    );
  }

  function runSetup(): { status: number | null; output: string; calls: string[] } {
    rmSync(log, { force: true });
    const result = spawnSync(process.execPath, [path.join(root, 'tools', 'setup.mjs')], {
      encoding: 'utf8',
      cwd: directory,
      env: {
        PATH: [path.join(directory, 'bin'), path.dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      },
    });
    const calls = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
    return { status: result.status, output: result.stdout + result.stderr, calls };
  }

  const build = 'turbo run build telemetry=1';
  const install = 'pnpm install --frozen-lockfile --config.confirmModulesPurge=false';

  test('installs with a pnpm of the pinned version and builds; the second run only builds', () => {
    fakePnpm('bin', '10.34.8');
    const first = runSetup();
    expect(first).toMatchObject({ status: 0, calls: ['pnpm --version', install, build] });
    expect(first.output).toMatch(/installed and built/);
    const second = runSetup();
    expect(second).toMatchObject({ status: 0, calls: [build] });
    expect(second.output).toMatch(/up to date/);
  });

  test('gets pnpm through npx when the one at hand is another version, and finds it again', () => {
    fakePnpm('bin', '9.0.0');
    fakePnpm('npx-cache', '10.34.8');
    program('bin', 'npx', `shift 3; PATH="${directory}/npx-cache:$PATH" "$@"`);
    const first = runSetup();
    expect(first.status).toBe(0);
    expect(first.calls[0]).toBe('pnpm --version');
    expect(first.calls[1]).toMatch(/^npx --yes --package=pnpm@10\.34\.8 -- node /);
    expect(first.calls.slice(2)).toEqual([install, build]);
    expect(runSetup()).toMatchObject({ status: 0, calls: [build] });
    rmSync(path.join(directory, 'npx-cache'), { recursive: true });
    fakePnpm('npx-cache', '10.34.8');
    expect(runSetup().calls.at(-1)).toBe(build);
  });

  test('installs again after a manifest or the lock file changed, and when the modules are gone', () => {
    fakePnpm('bin', '10.34.8');
    runSetup();
    writeFileSync(
      path.join(root, 'packages', 'one', 'package.json'),
      '{ "name": "one", "version": "1.0.0" }',
    );
    expect(runSetup().calls).toContain(install);
    writeFileSync(path.join(root, 'pnpm-lock.yaml'), 'other lock\n');
    expect(runSetup().calls).toContain(install);
    rmSync(path.join(root, 'node_modules'), { recursive: true });
    expect(runSetup().calls).toContain(install);
    expect(runSetup().calls).not.toContain(install);
  });

  test('fails with the reason when a step fails, and repeats what was not finished', () => {
    program('bin', 'pnpm', '[ "$1" = --version ] && echo 10.34.8 && exit 0; exit 7');
    const failed = runSetup();
    expect(failed.status).toBe(1);
    expect(failed.output).toMatch(/pnpm install ended with exit code 7/);
    fakePnpm('bin', '10.34.8');
    writeFileSync(path.join(root, 'broken'), '');
    const broken = runSetup();
    expect(broken.calls).toContain(install);
    expect(broken.output).toMatch(/turbo run ended with exit code 1/);
    rmSync(path.join(root, 'broken'));
    expect(runSetup()).toMatchObject({ status: 0, calls: [build] });
  });

  test('says what to do when pnpm cannot be had', () => {
    program('bin', 'pnpm', 'exit 1');
    program('bin', 'npx', 'exit 1');
    const result = runSetup();
    expect(result.status).toBe(1);
    expect(result.output).toMatch(/npm install --global pnpm@10\.34\.8/);
  });

  test('deletes built files whose source is gone, and nothing else', () => {
    const place = path.join(root, 'packages', 'one');
    mkdirSync(path.join(place, 'src', 'deep'), { recursive: true });
    mkdirSync(path.join(place, 'dist', 'deep'), { recursive: true });
    for (const file of ['src/a.ts', 'src/deep/b.ts']) writeFileSync(path.join(place, file), '');
    const kept = ['a.js', 'a.js.map', 'a.d.ts', 'a.d.ts.map', 'deep/b.js', '.tsbuildinfo'];
    const stale = ['old.js', 'old.d.ts.map', 'deep/a.js', 'b.d.ts'];
    for (const file of [...kept, ...stale]) writeFileSync(path.join(place, 'dist', file), '');
    expect(pruneStaleOutputs(root)).toEqual(stale.map((file) => `packages/one/dist/${file}`).sort());
    expect(kept.filter((file) => !existsSync(path.join(place, 'dist', file)))).toEqual([]);
    expect(pruneStaleOutputs(root)).toEqual([]);
  });

  test('insists on an exact pin', () => {
    expect(pinnedPnpm(root)).toBe('10.34.8');
    writeFileSync(path.join(root, 'package.json'), '{ "packageManager": "pnpm@10" }');
    expect(() => pinnedPnpm(root)).toThrow(/exact version/);
  });

  test('makes the same key for the same inputs', () => {
    expect(installKey(root)).toBe(installKey(root));
    const before = installKey(root);
    mkdirSync(path.join(root, 'examples', 'two'), { recursive: true });
    writeFileSync(path.join(root, 'examples', 'two', 'package.json'), '{}');
    expect(installKey(root)).not.toBe(before);
  });
});
