#!/usr/bin/env node
/**
 * Makes a clone ready: installs the locked dependencies and builds every package.
 *
 * Needs Node and npm and nothing else; imports no package, because it runs before there are any. Running it again is
 * quick: the install is skipped while manifests and lock file are unchanged, and the build is cached.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestNode = [20, 19];

/**
 * Tells whether a Node version is new enough.
 * @param {string} version
 */
export function isSupportedNode(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = oldestNode;
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/**
 * Digest of everything that decides what an install brings.
 * @param {string} root
 */
export function installKey(root) {
  const manifests = ['packages', 'examples']
    .filter((parent) => existsSync(path.join(root, parent)))
    .flatMap((parent) =>
      readdirSync(path.join(root, parent))
        .sort()
        .map((child) => `${parent}/${child}/package.json`),
    );
  const hash = createHash('sha256');
  hash.update(JSON.stringify([process.platform, process.arch, process.versions.modules]));
  for (const file of [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'package.json',
    'tools/package.json',
    ...manifests,
  ]) {
    if (!existsSync(path.join(root, file))) continue;
    hash.update(`\n${file}\n`);
    hash.update(readFileSync(path.join(root, file)));
  }
  return hash.digest('hex');
}

/**
 * The exact version of the package manager that the root manifest pins.
 * @param {string} root
 */
export function pinnedPnpm(root) {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const pinned = /^pnpm@(\d+\.\d+\.\d+)/.exec(manifest.packageManager ?? '');
  if (pinned?.[1] === undefined)
    throw new Error('package.json: packageManager must pin pnpm to an exact version');
  return pinned[1];
}

/**
 * Deletes built files whose source is gone. The compiler leaves them behind, where they could still be imported.
 * @param {string} root
 * @returns {string[]} What was deleted.
 */
export function pruneStaleOutputs(root) {
  /** @type {string[]} */
  const deleted = [];
  for (const name of readdirSync(path.join(root, 'packages'))) {
    const output = path.join(root, 'packages', name, 'dist');
    if (!existsSync(output)) continue;
    for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
      const built = path.join(entry.parentPath ?? entry.path, entry.name);
      const stem = path.relative(output, built).replace(/(\.d\.ts|\.js)(\.map)?$/, '');
      if (!entry.isFile() || stem === path.relative(output, built)) continue;
      if (existsSync(path.join(root, 'packages', name, 'src', `${stem}.ts`))) continue;
      rmSync(built, { force: true });
      deleted.push(path.relative(root, built));
    }
  }
  return deleted.sort();
}

/**
 * Sets up the repository at `root`.
 * @param {string} root
 * @returns {{ installed: boolean }}
 */
export function setup(root) {
  if (!isSupportedNode(process.version)) {
    throw new Error(`Node ${oldestNode.join('.')} or newer is needed; this is ${process.version}`);
  }
  const stampFile = path.join(root, 'node_modules', '.holdfast-setup.json');
  const stamp = readStamp(stampFile);
  const key = installKey(root);
  const current = stamp?.key === key && existsSync(path.join(root, 'node_modules', '.modules.yaml'));
  const usable =
    current && stamp !== undefined && (stamp.pnpmDirectory === '' || existsSync(stamp.pnpmDirectory));
  const pnpmDirectory = usable ? stamp.pnpmDirectory : findPnpm(pinnedPnpm(root));
  const env = environment(pnpmDirectory);

  if (!current) {
    command(root, env, 'pnpm', ['install', '--frozen-lockfile', '--config.confirmModulesPurge=false']);
  }
  if (!usable) {
    mkdirSync(path.dirname(stampFile), { recursive: true });
    writeFileSync(stampFile, `${JSON.stringify({ key, pnpmDirectory })}\n`);
  }
  pruneStaleOutputs(root);
  const turbo = path.join(root, 'node_modules', '.bin', 'turbo');
  const args = [
    'run',
    'build',
    '--cache=local:rw',
    '--concurrency=2',
    '--output-logs=errors-only',
    '--log-prefix=none',
  ];
  command(root, env, turbo, [...args, '--no-update-notifier'], { quiet: true });
  return { installed: !current };
}

/**
 * The environment in which the programs `pnpm` and `turbo` run, for other tools of the repository.
 * @param {string} root
 * @returns {NodeJS.ProcessEnv}
 */
export function toolEnvironment(root) {
  const stamp = readStamp(path.join(root, 'node_modules', '.holdfast-setup.json'));
  if (stamp === undefined) throw new Error('run npm run setup first');
  return environment(stamp.pnpmDirectory);
}

/**
 * @param {string} file
 * @returns {{ key: string, pnpmDirectory: string } | undefined}
 */
function readStamp(file) {
  try {
    const stamp = JSON.parse(readFileSync(file, 'utf8'));
    return typeof stamp.key === 'string' && typeof stamp.pnpmDirectory === 'string' ? stamp : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds the pinned pnpm: the one on the path when it is that version, else the one that npx brings.
 * @param {string} version
 * @returns {string} The directory to put on the path; empty when the path has it already.
 */
function findPnpm(version) {
  // Asked outside the repository, or a newer pnpm would download the pinned one by itself.
  const own = spawnSync('pnpm', ['--version'], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { ...process.env, COREPACK_ENABLE_DOWNLOAD_PROMPT: '0' },
    shell: process.platform === 'win32',
    timeout: 20_000,
  });
  if (own.status === 0 && own.stdout.trim() === version) return '';
  console.log(`setup: getting pnpm ${version} through npx`);
  const printer = fileURLToPath(new URL('shared/print-pnpm-directory.mjs', import.meta.url));
  const found = spawnSync(`npx --yes --package=pnpm@${version} -- node "${printer}"`, {
    cwd: tmpdir(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: true,
  });
  const directory = found.stdout?.trim().split('\n').at(-1) ?? '';
  if (found.status !== 0 || directory === '') {
    throw new Error(
      `pnpm ${version} could not be had through npx; install it with: npm install --global pnpm@${version}`,
    );
  }
  return directory;
}

/**
 * @param {string} pnpmDirectory
 * @returns {NodeJS.ProcessEnv}
 */
function environment(pnpmDirectory) {
  /** @type {NodeJS.ProcessEnv} */
  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  };
  // Windows spells it Path, and a copy of the environment is no longer case-insensitive.
  const key = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH';
  if (pnpmDirectory !== '') env[key] = `${pnpmDirectory}${path.delimiter}${env[key] ?? ''}`;
  return env;
}

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @param {string} program
 * @param {string[]} args
 * @param {{ quiet?: boolean }} [options] Quiet shows the output only when the program fails.
 */
function command(root, env, program, args, options = {}) {
  const shell = process.platform === 'win32';
  const result = spawnSync(program, args, {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: options.quiet === true ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    maxBuffer: 64 * 1024 * 1024,
    shell,
  });
  if (result.status === 0) return;
  if (options.quiet === true) process.stderr.write(`${result.stdout}${result.stderr}`);
  const why = result.error?.message ?? result.signal ?? `exit code ${result.status}`;
  throw new Error(`${path.basename(program)} ${args[0]} ended with ${why}`);
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    const started = performance.now();
    const { installed } = setup(path.resolve(fileURLToPath(new URL('..', import.meta.url))));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`setup: ${installed ? 'installed and built' : 'up to date'} in ${seconds} s`);
  } catch (error) {
    console.error(`setup: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
