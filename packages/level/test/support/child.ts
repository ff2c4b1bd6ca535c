import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A process that owns a session, or was refused it. */
export class OwnerProcess implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  constructor(directory: string, id: string, epochs: number) {
    const script = fileURLToPath(new URL('../fixtures/owner.mjs', import.meta.url));
    this.child = spawn(process.execPath, [script, directory, id, String(epochs)], { stdio: 'pipe' });
    this.child.stderr.pipe(process.stderr);
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** The next message; `undefined` when the process has ended. */
  async next(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const line = await this.#lines.next();
    return line.done === true ? undefined : (JSON.parse(line.value) as Record<string, unknown>);
  }

  send(line: string): void {
    this.child.stdin.write(`${line}\n`);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }
}
