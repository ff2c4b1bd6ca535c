import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { type WorkspaceTools, type WorkspaceToolsOptions, workspaceTools } from '@holdfast/agent-tools';
import { memoryBlobs } from '@holdfast/blobs';
import { memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { defineRig, exclusiveWorkspace, type OpenedSession } from '@holdfast/rig';
import { type BoundTools, defineLoop } from '@holdfast/session';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach } from 'vitest';

export type Tools = BoundTools<WorkspaceTools>;

/** A turn, as a script; its result is what `run` returns. */
type Script<Value> = (tools: Tools, signal: AbortSignal) => Promise<Value>;

/** A real session over memory backends with two loops that have the tools, and a place on the disk. */
export class Bench {
  readonly place: string = mkdtempSync(path.join(realpathSync(tmpdir()), 'holdfast-tools-'));
  readonly root: string = path.join(this.place, 'root');
  session: OpenedSession | undefined;
  readonly #scripts = new Map<string, { readonly run: Script<unknown>; result: unknown }>();
  readonly #closers: (() => Promise<void>)[] = [];
  #lastScript = 0;

  constructor() {
    mkdirSync(this.root);
    benches.push(this);
  }

  async open(options: WorkspaceToolsOptions = {}): Promise<this> {
    const blobs = memoryBlobs();
    const leaser = memoryLeaser();
    const sessionStore = await SessionStore.open({ ledgers: memorySessionLedgers(), leaser, blobs });
    const store = await WorkspaceStore.open(blobs);
    const loop = (name: string) =>
      defineLoop({
        name,
        tools: workspaceTools(options),
        turn: async ({ input, tools, signal }) => {
          const script = this.#scripts.get(input as string);
          if (script !== undefined) script.result = await script.run(tools, signal);
        },
      });
    const rig = defineRig({
      loops: [loop('one'), loop('two')],
      primers: ['one', 'two'],
      sessionStore,
      workspace: exclusiveWorkspace(store, this.root, leaser),
      snapshots: { trigger: 'manual' },
    });
    const session = await rig.newSession();
    this.session = session;
    this.#closers.push(async () => {
      await session.shutdown();
      await sessionStore.close();
      await store.close();
      await leaser.close();
    });
    return this;
  }

  /** Runs a script as one turn of a loop; what it throws is thrown. */
  async run<Value>(script: Script<Value>, loop: 'one' | 'two' = 'one'): Promise<Value> {
    this.#lastScript += 1;
    const id = `script-${this.#lastScript}`;
    const entry = { run: script as Script<unknown>, result: undefined as unknown };
    this.#scripts.set(id, entry);
    const { outcome } = await (this.session as OpenedSession).submit(id, { loop });
    const ended = await outcome;
    if (ended.status === 'failed') throw ended.error;
    if (ended.status === 'interrupted') throw new Error(`interrupted: ${ended.reason}`);
    return entry.result as Value;
  }

  at(...names: string[]): string {
    return path.join(this.root, ...names);
  }

  write(name: string, content: string | Uint8Array, mode = 0o644): void {
    mkdirSync(path.dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), content, { mode });
  }

  text(name: string): string {
    return readFileSync(this.at(name), 'utf8');
  }

  async end(): Promise<void> {
    for (const close of this.#closers.reverse()) await close().catch(() => undefined);
    rmSync(this.place, { recursive: true, force: true });
  }
}

const benches: Bench[] = [];

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.end();
});

/** The error that a promise rejects with; fails when it does not. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}
