import { type CommandIo, Interrupted } from '@holdfast/cli';

export interface FakeIo extends CommandIo {
  readonly out: () => string;
  readonly err: () => string;
  readonly interrupt: () => void;
}

export interface FakeIoOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly terminal?: boolean;
  readonly answers?: readonly string[];
  readonly platform?: NodeJS.Platform;
}

/** A process to run commands in: output is collected, answers come from a list. */
export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const out: string[] = [];
  const err: string[] = [];
  const answers = [...(options.answers ?? [])];
  const controller = new AbortController();
  const collector = (parts: string[]) => ({
    isTerminal: options.terminal ?? false,
    columns: 80,
    write: (chunk: string | Uint8Array) => {
      parts.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1'));
      return Promise.resolve();
    },
  });
  const noInput = (): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
  });
  return {
    stdout: collector(out),
    stderr: collector(err),
    stdin: {
      isTerminal: options.terminal ?? false,
      readLine: () => Promise.resolve(answers.shift()),
      chunks: noInput,
    },
    env: options.env ?? {},
    cwd: options.cwd ?? '/nowhere',
    platform: options.platform ?? 'linux',
    userHome: '/home/somebody',
    signal: controller.signal,
    out: () => out.join(''),
    err: () => err.join(''),
    interrupt: () => {
      controller.abort(new Interrupted());
    },
  };
}
