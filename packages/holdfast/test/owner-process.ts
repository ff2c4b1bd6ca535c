import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('fixtures/owner.mjs', import.meta.url));

/** A real process that owns a session or a root; see `fixtures/owner.mjs`. */
export interface OwnerProcess extends AsyncDisposable {
  readonly pid: number;
  /** Of its session; empty for a root without one. */
  readonly id: string;
  /** Its first snapshot. */
  readonly ref: string;
  /** Asks for something that answers nothing by itself. */
  send(call: string): void;
  /** Asks for something and returns its next line. */
  call<T>(call: string, input?: Readonly<Record<string, unknown>>): Promise<T>;
  /** Returns its next line. */
  next<T>(): Promise<T>;
  signal(name: NodeJS.Signals): void;
}

/** Starts one and waits until it owns what it is to own. */
export async function startOwner(
  home: string,
  root: string,
  mode: 'exclusive' | 'shared' | 'bare',
): Promise<OwnerProcess> {
  const child = spawn(process.execPath, [program, home, root, mode], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => {
    const line = await lines.next();
    if (line.done === true) throw new Error('the owner has ended');
    return JSON.parse(line.value) as T;
  };
  const { id = '', ref } = await next<{ id?: string; ref: string }>();
  return {
    pid: child.pid as number,
    id,
    ref,
    next,
    send: (call) => {
      child.stdin.write(`${JSON.stringify({ call })}\n`);
    },
    call: async (call, input = {}) => {
      child.stdin.write(`${JSON.stringify({ call, ...input })}\n`);
      return await next();
    },
    signal: (name) => {
      child.kill(name);
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGCONT');
      child.stdin.end();
      await closed;
    },
  };
}
