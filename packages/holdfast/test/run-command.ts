import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The program that people start. */
export const command: string = fileURLToPath(new URL('../bin/holdfast.js', import.meta.url));
const runAs = fileURLToPath(new URL('./fixtures/run-as.mjs', import.meta.url));

export interface CommandResult {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  /** Standard output as JSON. */
  readonly json: () => never;
  /** The error object of standard error. */
  readonly error: () => Record<string, unknown>;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** Run as this user instead of the present one (needs root). */
  readonly uid?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the built command as a person would: another process, real files. */
export async function holdfast(
  words: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const program = options.uid === undefined ? [command] : [runAs, String(options.uid)];
  const child = spawn(process.execPath, [...program, ...words], {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH: process.env['PATH'], ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stdin.end(options.input ?? '');
  const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killed) => {
      resolve([code, killed]);
    });
  });
  const output = Buffer.concat(stdout);
  const errors = Buffer.concat(stderr).toString();
  return {
    status,
    signal,
    stdout: output,
    stderr: errors,
    json: () => {
      if (status !== 0) throw new Error(`holdfast ${words.join(' ')} exited ${status}: ${errors}`);
      return JSON.parse(output.toString()) as never;
    },
    error: () => (JSON.parse(errors) as { readonly error: Record<string, unknown> }).error,
  };
}

/** A temporary directory that disposes itself. */
export function temporaryDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  return {
    path,
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}
