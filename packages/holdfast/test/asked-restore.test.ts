import * as fs from 'node:fs';
import { join } from 'node:path';

import { type CommandIo, runCommand } from '@holdfast/cli';
import { openLocal } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { holdfast, temporaryDirectory } from './run-command.js';

/** A restore that shows its plan and asks, and what happens to the directory while a person thinks. */

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;
let ref: string;

const write = (path: string, text: string): void => {
  fs.writeFileSync(join(root, path), text);
};
const contents = (): Record<string, string> =>
  Object.fromEntries(fs.readdirSync(root).map((name) => [name, fs.readFileSync(join(root, name), 'utf8')]));

beforeEach(async () => {
  temporary = temporaryDirectory();
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
  write('a', 'old');
  ({ ref } = (await holdfast(['snapshot', root, '--home', home, '--json'])).json() as { ref: string });
  write('a', 'changed');
  write('extra', 'extra');
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

/** Runs the command on a terminal at which somebody types `answer`, after `meanwhile`. */
async function ask(answer: string | undefined, meanwhile: () => void, ...more: string[]) {
  return await askCommand(['restore', ref, root, ...more], answer, meanwhile);
}

async function askCommand(given: readonly string[], answer: string | undefined, meanwhile: () => void) {
  const out: string[] = [];
  const writer = {
    isTerminal: true,
    columns: 80,
    write: (chunk: string | Uint8Array) => {
      out.push(Buffer.from(chunk).toString());
      return Promise.resolve();
    },
  };
  const io: CommandIo = {
    stdout: writer,
    stderr: writer,
    stdin: {
      isTerminal: true,
      chunks: () => {
        throw new Error('nobody reads bytes');
      },
      readLine: () => {
        meanwhile();
        return Promise.resolve(answer);
      },
    },
    env: {},
    cwd: temporary.path,
    platform: process.platform,
    userHome: temporary.path,
    signal: new AbortController().signal,
  };
  const words = [...given, '--home', home];
  const status = await runCommand(words, { io, openLocal, version: '0.0.0' });
  return { status, text: out.join('') };
}

const nothing = (): void => undefined;

describe('a restore that asks', () => {
  it('shows what it would do, and does it for a yes only', async () => {
    for (const answer of ['n', '', 'yep', undefined]) {
      const { status, text } = await ask(answer, nothing);
      expect(status).toBe(1);
      expect(text).toContain('replace a');
      expect(text).toContain('delete extra');
      expect(text).toContain('CLI_CONFIRMATION');
      expect(contents()).toEqual({ a: 'changed', extra: 'extra' });
    }
    expect((await ask('y', nothing)).status).toBe(0);
    expect(contents()).toEqual({ a: 'old' });
  });

  it('leaves alone what appeared after the plan was shown', async () => {
    const appear = (): void => {
      write('later', 'later');
    };
    expect((await ask('yes', appear)).status).toBe(0);
    expect(contents()).toEqual({ a: 'old', later: 'later' });
  });

  it('refuses when a planned path changed meanwhile, and both files are kept', async () => {
    const change = (): void => {
      write('a', 'changed again');
    };
    const { status, text } = await ask('y', change);
    expect(status).toBe(1);
    expect(text).toContain('concurrent-change');
    expect(contents()).toEqual({ a: 'changed again', extra: 'extra' });
  });

  it('does all of it, and says so, when told to overwrite', async () => {
    const change = (): void => {
      write('a', 'changed again');
    };
    const { status, text } = await ask('y', change, '--on-conflict', 'overwrite');
    expect(text).toContain('changed meanwhile, overwritten: a');
    expect(status).toBe(0);
    expect(contents()).toEqual({ a: 'old' });
  });

  it('is partial, and says so, when told to skip', async () => {
    const change = (): void => {
      write('a', 'changed again');
    };
    const { status, text } = await ask('y', change, '--on-conflict', 'skip');
    expect(text).toContain('changed meanwhile, skipped: a');
    expect(status).toBe(1);
    expect(contents()).toEqual({ a: 'changed again' });
  });
});

describe('a rewind and an undo that ask', () => {
  const json = async <T>(...words: string[]): Promise<T> =>
    (await holdfast([...words, '--home', home, '--json'])).json() as T;

  it('show what they would do, and do it for a yes only', async () => {
    const { id } = await json<{ id: string }>('session', 'new', root);
    const [baseline] = (await json<{ id: string; trigger?: string }[]>('session', 'log', id)).filter(
      ({ trigger }) => trigger === 'baseline',
    );
    write('a', 'later');
    write('b', 'new');
    const rewind = ['session', 'rewind', id, baseline?.id ?? ''];
    const declined = await askCommand(rewind, 'n', nothing);
    expect(declined.status).toBe(1);
    for (const line of ['replace a', 'delete b', 'apply this plan?']) expect(declined.text).toContain(line);
    expect(contents()).toEqual({ a: 'later', b: 'new', extra: 'extra' });
    expect((await askCommand(rewind, 'y', nothing)).status).toBe(0);
    expect(contents()).toEqual({ a: 'changed', extra: 'extra' });

    const undo = ['session', 'undo', id];
    const kept = await askCommand(undo, undefined, nothing);
    expect(kept.status).toBe(1);
    for (const line of ['replace a', 'create b']) expect(kept.text).toContain(line);
    expect(contents()).toEqual({ a: 'changed', extra: 'extra' });
    const change = (): void => {
      write('a', 'changed while somebody thought');
    };
    const refused = await askCommand(undo, 'y', change);
    expect(refused.status).toBe(1);
    expect(refused.text).toContain('concurrent-change');
    expect((await askCommand(undo, 'y', nothing)).status).toBe(0);
    expect(contents()).toEqual({ a: 'later', b: 'new', extra: 'extra' });
  });
});
