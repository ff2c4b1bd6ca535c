import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { defineRig, exclusiveWorkspace, type Local, openLocal, type Rig, sessionWorkspaces } from 'holdfast';

import { treeRows } from '../tree-rows.js';

/** What `fixtures/session-worker.mjs` tells: one line each. */
export interface Told {
  readonly what: 'begins' | 'done' | 'wrote' | 'forked' | 'killed' | 'ended';
  readonly operation?: string;
  readonly session?: string;
  /** Digest of the tree at that moment. */
  readonly tree?: string;
  /** Digest of the tree that the operation is to bring about, when it is known beforehand. */
  readonly target?: string;
  readonly ref?: string;
  readonly turn?: string;
  readonly restoreId?: string;
  readonly rewound?: boolean;
  readonly at?: string;
  /** Every change in order: its operation and what it was. */
  readonly sequence?: readonly (readonly [operation: string, change: string])[];
}

export type Mode = 'exclusive' | 'per-session';
export type Script = 'life' | 'open';

const worker = fileURLToPath(new URL('../fixtures/session-worker.mjs', import.meta.url));

/** Runs a worker until it ends or kills itself. `killAt` 0: it does not. */
export async function live(
  place: string,
  mode: Mode,
  script: Script,
  killAt: number,
): Promise<readonly Told[]> {
  const child = spawn(process.execPath, [worker, place, mode, script, String(killAt)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (exit, by) => resolve([exit, by]));
  });
  if (code !== 0 && signal !== 'SIGKILL')
    throw new Error(
      `the worker ended with ${String(code)} ${String(signal)}: ${Buffer.concat(err).toString()}`,
    );
  const lines = Buffer.concat(out).toString('utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Told);
}

/** A place for one life: for exclusive roots one with a file, and an empty one for the seed. */
export function makePlace(place: string, mode: Mode): void {
  if (mode === 'per-session') return;
  fs.mkdirSync(path.join(place, 'root'));
  fs.writeFileSync(path.join(place, 'root', 'mine.txt'), 'mine\n');
  fs.mkdirSync(path.join(place, 'other'));
}

/** The digest by which a worker names a tree. */
export function treeDigest(root: string): string {
  const rows = fs.existsSync(root) ? treeRows(root) : [];
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex');
}

/** The same stack in this process, over what a life left. */
export async function openPlace(
  place: string,
  mode: Mode,
): Promise<{ readonly local: Local; readonly rigOf: (session: string) => Rig }> {
  const local = await openLocal(path.join(place, 'home'), { runtimeDirectory: path.join(place, 'run') });
  const define = (directory: string): Rig =>
    defineRig(local.fragment, {
      workspace:
        mode === 'exclusive'
          ? exclusiveWorkspace(local.store, path.join(place, directory), local.leaser)
          : sessionWorkspaces(local.store, path.join(place, 'base')),
      snapshots: { trigger: 'manual' },
    });
  return { local, rigOf: (session) => define(session === 'session-b' ? 'other' : 'root') };
}
