import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { FileSystem } from '@holdfast/durable';
import {
  type ApplyOptions,
  applyRestore,
  type RestoreJournal,
  type RestoreReceipt,
  type RestoreStarted,
} from '@holdfast/restore';
import { MemorySource } from '@holdfast/restore/testing';
import type { Ref } from '@holdfast/workspacestore';
import { afterEach } from 'vitest';

const made: string[] = [];

afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** A fresh directory on the real disk, removed after the test. */
export function temporaryDirectory(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-restore-')));
  made.push(path);
  return path;
}

/** A journal that remembers what it was told. */
export class MemoryJournal implements RestoreJournal {
  readonly rows: { readonly type: string; readonly restoreId: string; readonly event?: string }[] = [];
  readonly startedRecords: RestoreStarted[] = [];
  failOn: string | undefined;

  prepare(draft: { readonly restoreId: string; readonly ref: Ref }): Uint8Array {
    return Buffer.from(JSON.stringify({ id: draft.restoreId, ref: draft.ref }));
  }

  async started(record: RestoreStarted): Promise<number> {
    this.#refuse('started');
    this.startedRecords.push(record);
    return await Promise.resolve(this.rows.push({ type: 'started', restoreId: record.restoreId }));
  }

  async restored(event: Uint8Array, restoreId: string): Promise<void> {
    this.#refuse('restored');
    this.rows.push({ type: 'restored', restoreId, event: Buffer.from(event).toString() });
    await Promise.resolve();
  }

  async aborted(record: { readonly restoreId: string }): Promise<void> {
    this.#refuse('aborted');
    this.rows.push({ type: 'aborted', restoreId: record.restoreId });
    await Promise.resolve();
  }

  get types(): string {
    return this.rows.map(({ type }) => type).join(' ');
  }

  #refuse(type: string): void {
    if (this.failOn === type) throw new Error(`journal refuses ${type}`);
  }
}

export const inertLock = (): Promise<AsyncDisposable> =>
  Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() });

export interface Bench {
  readonly base: string;
  readonly root: string;
  readonly source: MemorySource;
  readonly journal: MemoryJournal;
  options(more?: Partial<ApplyOptions>): ApplyOptions;
  restore(ref: Ref, more?: Partial<ApplyOptions>): Promise<RestoreReceipt>;
}

/** A root in a fresh directory, a source and a journal. */
export function bench(fileSystem?: FileSystem, base: string = temporaryDirectory()): Bench {
  const root = join(base, 'root');
  const source = new MemorySource(fileSystem);
  const journal = new MemoryJournal();
  const options = (more: Partial<ApplyOptions> = {}): ApplyOptions => ({
    session: 'session-1',
    owner: { pid: 1 },
    hostLock: inertLock,
    journal,
    ...(fileSystem === undefined ? {} : { fileSystem }),
    ...more,
  });
  return {
    base,
    root,
    source,
    journal,
    options,
    restore: (ref, more) => applyRestore(source, ref, root, options(more)),
  };
}
