import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

import type { Dir } from './dir.js';
import { live } from './internal/disk/disk-file-system.js';
import { DiskDir } from './internal/disk/disk-handle.js';

/**
 * Makes a whole file system durable with one call. Syncing ten thousand files one by one takes fifty times as long, so
 * that strategies use this instead when there is much to sync.
 */
export interface WholeSync {
  /** From so many files or directories on it is used instead of single syncs. */
  readonly from: number;
  /** Bytes written from which on one is begun beside the writing, each time again. Default: only one, at the end. */
  readonly every?: number | undefined;
  /** Rejects when anything could not be made durable. */
  sync(): Promise<void>;
}

export interface DiskSyncOptions {
  /** Absolute path of a program that takes `-f PATH` as `sync` does. Default: the system's `sync`. */
  readonly program?: string | undefined;
}

const programs = ['/usr/bin/sync', '/bin/sync'];
/** What a child finds its fourth descriptor by: the directory itself, wherever it stands by then. */
const inherited = '/proc/self/fd/3';

/**
 * The whole sync of the file system that holds `place`: `syncfs(2)` by way of the system's `sync -f`, since Node has no
 * such call. `undefined` where there is none. An open directory is handed to the program as it is (with `/proc`; else by
 * the path at which it was opened): whoever moves a directory on the way cannot have another disk synced instead. It has
 * to be open whenever `sync` is called.
 */
export function diskSync(place: Dir | string, options: DiskSyncOptions = {}): WholeSync | undefined {
  if (process.platform !== 'linux') return undefined;
  const program = options.program ?? programs.find((candidate) => existsSync(candidate));
  if (program === undefined) return undefined;
  if (typeof place !== 'string' && !(place.handle() instanceof DiskDir)) return undefined;
  return {
    from: 64,
    every: 256 * 1024 * 1024,
    sync: async () => {
      if (typeof place === 'string') await run(program, place);
      else await syncHeld(program, place);
    },
  };
}

async function syncHeld(program: string, place: Dir): Promise<void> {
  const handle: unknown = place.handle();
  if (!(handle instanceof DiskDir)) throw new TypeError('this directory is on no disk');
  if (existsSync('/proc/self/fd')) await run(program, inherited, live(handle, 'sync'));
  else await run(program, handle.display());
}

/** The descriptor is the child's own from the moment this returns its promise. */
async function run(program: string, path: string, descriptor?: number): Promise<void> {
  const stdio = ['ignore', 'ignore', 'pipe', ...(descriptor === undefined ? [] : [descriptor])] as const;
  const child = spawn(program, ['-f', path], { stdio: [...stdio] });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} ended with ${signal ?? code}: ${said.trim().slice(0, 500)}`));
    });
  });
}
