import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { ManualClock } from '@holdfast/base/testing';
import { nodeFileSystem } from '@holdfast/durable';
import { type FileSystemCall, ForwardingFileSystem } from '@holdfast/durable/testing';
import {
  encodeRefsNote,
  InvalidSessionIdError,
  JournalCorruptError,
  LedgerBackendError,
  LedgerClosedError,
  LedgerInUseError,
  SessionNotFoundError,
  SessionStore,
} from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { openLevelLedgers } from '@holdfast/level';
import { afterEach, describe, expect, it } from 'vitest';

import { removeTemporaryDirectories, temporaryDirectory } from './support/level-harness.js';

afterEach(removeTemporaryDirectories);

const id = 'session-0001';

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** A directory of sessions that nobody has open. */
async function closedSessions(...ids: string[]): Promise<string> {
  const directory = temporaryDirectory();
  const ledgers = await openLevelLedgers(directory);
  const store = await SessionStore.open(memorySessionParts({ ledgers }));
  for (const name of ids) await (await store.create({ id: name })).close();
  await ledgers.close();
  return directory;
}

describe('level session ledgers', () => {
  it('open under leases that lost their counter: the database proves that no other owner lives', async () => {
    const ledgers = await openLevelLedgers(temporaryDirectory());
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    await (await store.create({ id })).close();
    await (await store.open(id)).close();
    const restored = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await restored.open(id);
    expect(journal.epoch).toBe(3);
    await journal.close();
    await ledgers.close();
  });

  it('keep a session over close and open, with its notes beside the database', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await store.create({ id, title: 'first' });
    await journal.append({ type: 'SessionStarted', body: {} });
    expect(readdirSync(join(directory, id)).sort()).toEqual(['ledger', 'owner', 'refs', 'summary']);
    for (const name of ['owner', 'refs', 'summary']) {
      expect(statSync(join(directory, id, name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(join(directory, id)).mode & 0o777).toBe(0o700);
    expect(await store.owner(id)).toMatchObject({ pid: process.pid });
    await journal.announce({ socket: '/run/x' });
    expect(await store.owner(id)).toMatchObject({ pid: process.pid, socket: '/run/x' });
    await journal.close();
    expect(readdirSync(join(directory, id)).sort()).toEqual(['ledger', 'refs', 'summary']);
    const again = await store.open(id);
    expect([again.fold.title, again.tip]).toEqual(['first', 4]);
    await again.close();
    await store.delete(id);
    expect(readdirSync(directory)).toEqual([]);
    expect(store.storagePaths()).toEqual(ledgers.storagePaths());
    await store.close();
    await ledgers.close();
  });

  it('share one database between the views of a process, and with no other opener', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory, { owner: { program: 'test' } });
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await store.create({ id });
    const view = await store.read(id);
    await journal.append({ type: 'note', body: 1 });
    await view.refresh();
    expect(view.fold.events).toBe(1);
    await journal.close();
    expect((await collect(view.events())).length).toBe(1);
    const other = await openLevelLedgers(directory);
    const refusal = (await failureOf(other.open(id))) as LedgerInUseError;
    expect(LedgerInUseError.is(refusal)).toBe(true);
    expect(refusal).toMatchObject({ subject: id, owner: { pid: process.pid, program: 'test' } });
    expect(LedgerInUseError.is(await failureOf(other.delete(id)))).toBe(true);
    expect(LedgerInUseError.is(await failureOf(ledgers.delete(id)))).toBe(true);
    await view.close();
    await (await other.open(id)).close();
    await other.delete(id);
    await other.close();
    await ledgers.close();
  });

  it('list sessions without opening any, and nothing else that lies there', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    for (const name of ['session-b', 'session-a'])
      await (await store.create({ id: name, title: name })).close();
    mkdirSync(join(directory, 'not-a-session'));
    mkdirSync(join(directory, 'UPPER-CASE'));
    writeFileSync(join(directory, 'session-file'), 'x');
    symlinkSync(join(directory, 'session-a'), join(directory, 'session-link'));
    const other = await openLevelLedgers(directory);
    const owned = await store.open('session-a');
    const otherStore = await SessionStore.open(memorySessionParts({ ledgers: other }));
    expect((await collect(otherStore.list())).map((summary) => summary.title)).toEqual([
      'session-a',
      'session-b',
    ]);
    expect(await collect(otherStore.refs('session-a'))).toEqual([]);
    rmSync(join(directory, 'session-a', 'summary'));
    expect((await collect(otherStore.list()))[0]).toMatchObject({
      state: 'unknown',
      problem: 'JOURNAL_IN_USE',
    });
    await owned.close();
    await Promise.all([ledgers.close(), other.close()]);
  });

  it("leave what is not theirs in a session's directory", async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    mkdirSync(join(directory, id, 'lease'), { recursive: true });
    writeFileSync(join(directory, id, 'lease', '1'), 'epoch');
    await (await store.create({ id })).close();
    await store.delete(id);
    expect(readdirSync(join(directory, id))).toEqual(['lease']);
    expect(await ledgers.exists(id)).toBe(false);
    await (await store.create({ id })).close();
    await ledgers.close();
  });

  it('finish a deletion that was interrupted', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await store.create({ id });
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
    // As it stands after the mark and before the rest.
    writeFileSync(join(directory, id, 'deleting'), '');
    expect(await ledgers.exists(id)).toBe(false);
    expect(await collect(store.list())).toEqual([]);
    expect(SessionNotFoundError.is(await failureOf(store.open(id)))).toBe(true);
    const again = await store.create({ id });
    expect([again.tip, again.fold.events]).toEqual([1, 0]);
    await again.close();
    expect(readdirSync(join(directory, id)).sort()).toEqual(['ledger', 'refs', 'summary']);
    writeFileSync(join(directory, id, 'deleting'), '');
    await store.delete(id);
    await ledgers.delete(id);
    expect(readdirSync(directory)).toEqual([]);
    await ledgers.close();
  });

  it('never take a lost database for an empty session', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await store.create({ id });
    await journal.append({ type: 'note', body: 1 });
    await journal.close();
    const database = join(directory, id, 'ledger');
    rmSync(join(database, 'CURRENT'));
    expect(JournalCorruptError.is(await failureOf(store.open(id)))).toBe(true);
    rmSync(database, { recursive: true });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error = (await failureOf(store.open(id))) as JournalCorruptError;
      expect(JournalCorruptError.is(error)).toBe(true);
      expect(SessionNotFoundError.is(await failureOf(store.create({ id })))).toBe(false);
    }
    await ledgers.close();
  });

  it('keep what is left of a damaged session until somebody adopts it', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const store = await SessionStore.open(memorySessionParts({ ledgers }));
    const journal = await store.create({ id });
    for (let index = 0; index < 3; index += 1) await journal.append({ type: 'note', body: index });
    await journal.close();
    writeFileSync(join(directory, id, 'refs'), 'broken');
    expect(JournalCorruptError.is(await failureOf(store.open(id)))).toBe(true);
    rmSync(join(directory, id, 'refs'));
    expect(JournalCorruptError.is(await failureOf(store.open(id)))).toBe(true);
    const current = readFileSync(join(directory, id, 'ledger', 'CURRENT'));
    rmSync(join(directory, id, 'ledger', 'CURRENT'));
    expect(JournalCorruptError.is(await failureOf(store.open(id, { adopt: true })))).toBe(true);
    writeFileSync(join(directory, id, 'ledger', 'CURRENT'), current);
    const adopted = await store.open(id, { adopt: true });
    expect(adopted.fold.events).toBe(3);
    await adopted.close();
    await (await store.open(id)).close();
    await ledgers.close();
  });

  it('say what the disk says', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    writeFileSync(join(directory, 'file-not-dir'), 'x');
    expect(LedgerBackendError.is(await failureOf(ledgers.open('file-not-dir', { create: true })))).toBe(true);
    await expect(openLevelLedgers(join(directory, 'file-not-dir'))).rejects.toThrow();
    expect(InvalidSessionIdError.is(await failureOf(ledgers.open('../escape-attempt')))).toBe(true);
    expect(InvalidSessionIdError.is(await failureOf(ledgers.exists('X')))).toBe(true);
    await ledgers.close();
    for (const call of [
      () => ledgers.open(id),
      () => ledgers.exists(id),
      () => collect(ledgers.list()),
      () => ledgers.delete(id),
      () => ledgers.notes?.read(id, 'refs') ?? Promise.resolve(),
    ]) {
      expect(LedgerClosedError.is(await failureOf(call()))).toBe(true);
    }
    await ledgers.close();
  });

  it('close what is still open', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const ledger = await ledgers.open(id, { create: true });
    await ledger.append('log', 0, [Uint8Array.of(1)]);
    await ledgers.close();
    expect(readdirSync(join(directory, id))).toEqual(['ledger']);
    const again = await openLevelLedgers(directory);
    const reopened = await again.open(id);
    expect(await reopened.tip('log')).toBe(1);
    await reopened.close();
    await again.close();
  });

  it('an owner note that cannot be read does not matter', async () => {
    const directory = temporaryDirectory();
    const ledgers = await openLevelLedgers(directory);
    const ledger = await ledgers.open(id, { create: true });
    writeFileSync(join(directory, id, 'owner'), '{broken');
    const other = await openLevelLedgers(directory);
    const refusal = (await failureOf(other.open(id))) as LedgerInUseError;
    expect([LedgerInUseError.is(refusal), refusal.owner]).toEqual([true, undefined]);
    await ledger.close();
    await Promise.all([ledgers.close(), other.close()]);
  });

  it('are listed, read and asked for refs whenever somebody deletes one', async () => {
    const made = await closedSessions('session-gone', 'session-left');
    // Without it the journal is read.
    rmSync(join(made, 'session-gone', 'summary'));
    let calls = 1;
    for (let at = 1; at <= calls; at += 1) {
      const directory = temporaryDirectory();
      cpSync(made, directory, { recursive: true });
      const disk = new InterruptedFileSystem(nodeFileSystem());
      const ledgers = await openLevelLedgers(directory, { fileSystem: disk });
      const store = await SessionStore.open(memorySessionParts({ ledgers }));
      disk.interrupt(at, () => {
        rmSync(join(directory, 'session-gone'), { recursive: true });
      });
      const listed = (await collect(store.list())).map((summary) => summary.id);
      calls = Math.max(calls, disk.calls);
      expect(listed.filter((name) => name !== 'session-gone')).toEqual(['session-left']);
      await ledgers.close();
    }
    expect(calls).toBeGreaterThan(20);
  });

  it('are not damaged when they are deleted while they are opened', async () => {
    const made = await closedSessions(id);
    for (let at = 1; ; at += 1) {
      const directory = temporaryDirectory();
      cpSync(made, directory, { recursive: true });
      const disk = new InterruptedFileSystem(nodeFileSystem());
      const ledgers = await openLevelLedgers(directory, { fileSystem: disk });
      disk.interrupt(at, () => {
        rmSync(join(directory, id), { recursive: true });
      });
      const outcome = await ledgers.open(id).catch((error: unknown) => error);
      const { calls } = disk;
      await ledgers.close();
      if (calls < at) {
        expect(at).toBeGreaterThan(8);
        return;
      }
      if (outcome instanceof Error) expect(SessionNotFoundError.is(outcome), String(outcome)).toBe(true);
    }
  });

  it('are opened and deleted by whoever holds the lease, when those who read them have done so', async () => {
    const directory = await closedSessions(id);
    const elsewhere = await openLevelLedgers(directory);
    const reader = await SessionStore.open(memorySessionParts({ ledgers: elsewhere }));
    const ledgers = await openLevelLedgers(directory);
    let view = await reader.read(id);
    const clock = new PausesClock(async () => await view.close());
    const store = await SessionStore.open({ ...memorySessionParts({ ledgers }), clock });
    await (await store.open(id)).close();
    view = await reader.read(id);
    await store.delete(id);
    expect(clock.pauses).toBe(2);
    expect(readdirSync(directory)).toEqual([]);
    await Promise.all([ledgers.close(), elsewhere.close()]);
  });

  it('are refused to whoever holds the lease when somebody keeps them open', async () => {
    const directory = await closedSessions(id);
    const elsewhere = await openLevelLedgers(directory);
    const reader = await SessionStore.open(memorySessionParts({ ledgers: elsewhere }));
    const ledgers = await openLevelLedgers(directory);
    const clock = new PausesClock(() => undefined);
    const store = await SessionStore.open({ ...memorySessionParts({ ledgers }), clock });
    const view = await reader.read(id);
    expect(LedgerInUseError.is(await failureOf(store.open(id)))).toBe(true);
    expect(LedgerInUseError.is(await failureOf(store.delete(id)))).toBe(true);
    expect(clock.monotonic()).toBe(10_000);
    await view.close();
    await Promise.all([ledgers.close(), elsewhere.close()]);
  });

  it('tell what a session needs that is just being created', async () => {
    const directory = temporaryDirectory();
    const creator = await openLevelLedgers(directory);
    const begun = await creator.open(id, { create: true });
    const ledgers = await openLevelLedgers(directory);
    const clock = new PausesClock(async () => {
      const note = encodeRefsNote({ sessionId: id, epoch: 1, tip: 0, digest: '', refs: [] });
      await creator.notes?.write(id, 'refs', note);
    });
    const store = await SessionStore.open({ ...memorySessionParts({ ledgers }), clock });
    expect(await collect(store.refs(id))).toEqual([]);
    expect(clock.pauses).toBe(1);
    await begun.close();
    await Promise.all([ledgers.close(), creator.close()]);
  });

  it('are made by whoever creates the session, and by nobody who looks at it meanwhile', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, id, 'ledger'), { recursive: true });
    const reader = await openLevelLedgers(directory);
    const seen = await SessionStore.open(memorySessionParts({ ledgers: reader }));
    expect(await collect(seen.list())).toEqual([]);
    expect(SessionNotFoundError.is(await failureOf(reader.open(id)))).toBe(true);
    expect(readdirSync(join(directory, id, 'ledger'))).toEqual([]);
    await reader.close();
  });
});

/** Runs something ahead of one call of many. */
class InterruptedFileSystem extends ForwardingFileSystem {
  #at = 0;
  #what: (() => void) | undefined;
  calls = 0;

  /** From now on calls are counted. */
  interrupt(at: number, what: () => void): void {
    [this.calls, this.#at, this.#what] = [0, at, what];
  }

  protected around<T>(_call: FileSystemCall, run: () => T): T {
    this.calls += 1;
    if (this.calls === this.#at) this.#what?.();
    return run();
  }
}

/** A clock on which every pause takes a second, and `paused` happens meanwhile. */
class PausesClock extends ManualClock {
  readonly #paused: () => Promise<void> | undefined;
  pauses = 0;

  constructor(paused: () => Promise<void> | undefined) {
    super();
    this.#paused = paused;
  }

  override async sleep(): Promise<void> {
    this.pauses += 1;
    await this.#paused();
    await this.advance(1000);
  }
}
