import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { ControlCallError, ControlClient, ControlUnavailableError } from '@holdfast/session';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { barrier, Kit, settle } from './support/kit.js';

let directory: string;
const clients: ControlClient[] = [];

beforeEach(() => {
  directory = mkdtempSync(path.join(realpathSync(tmpdir()), 'hf-'));
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  rmSync(directory, { recursive: true, force: true });
});

async function connected(): Promise<{ kit: Kit; client: ControlClient; socket: string }> {
  const kit = await Kit.open({ controlDirectory: directory });
  const socket = path.join(directory, await socketName());
  const client = await ControlClient.connect(socket);
  clients.push(client);
  return { kit, client, socket };
}

async function socketName(): Promise<string> {
  const { readdirSync } = await import('node:fs');
  return readdirSync(directory)[0] as string;
}

describe('the control socket', () => {
  it('is for its owner only, under a short path', async () => {
    const { socket } = await connected();
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(socket)).mode & 0o777).toBe(0o700);
    expect(path.basename(socket)).toMatch(/^[0-9a-f]{16}\.sock$/);
  });

  it('lets another process read, checkpoint, preview, restore and undo', async () => {
    const { kit, client } = await connected();
    expect(await client.call('describe', {})).toEqual({
      protocol: 1,
      sessionId: kit.id,
      pid: process.pid,
      phase: 'idle',
      fault: null,
      root: kit.root,
    });
    const ref = await client.call('checkpoint', {});
    kit.write('a.txt', 'one');
    const plan = await client.call('preview', { ref });
    expect(plan.replace).toMatchObject([{ path: 'a.txt' }]);
    const receipt = await client.call('restore', { ref, options: { plan } });
    expect(receipt).toMatchObject({ replaced: 1 });
    expect(kit.read('a.txt')).toBe('zero');
    await client.call('undo', {});
    expect(kit.read('a.txt')).toBe('one');
    const [first] = await client.call('checkpoints', {});
    await client.call('rewind', { point: first?.id as string });
    expect(kit.read('a.txt')).toBe('zero');
    expect(await client.call('refs', {})).toContain(ref);
    expect(await client.call('interrupt', { reason: 'enough' })).toBeNull();
  });

  it('gives the events in pages', async () => {
    const { kit, client } = await connected();
    for (let count = 0; count < 5; count += 1) await kit.controller.boundary('step-done');
    const types: string[] = [];
    let from: number | null = 1;
    while (from !== null) {
      const page: Awaited<ReturnType<typeof page2>> = await page2(client, from);
      types.push(...page.events.map((event) => event.type));
      from = page.next;
    }
    expect(types).toEqual(await kit.types());
  });

  it('passes the errors of the owner on, with code and kind', async () => {
    const { client } = await connected();
    const error = await client.call('restore', { ref: 'nonsense' }).catch((caught: unknown) => caught);
    if (!ControlCallError.is(error)) throw error;
    expect(error).toMatchObject({
      method: 'restore',
      remoteCode: 'RESTORE_FAILED',
      remoteKind: 'invalid-ref',
    });
    await expect(client.call('nothing' as 'describe', {})).rejects.toMatchObject({
      code: 'SESSION_CONTROL_CALL',
    });
    await expect(
      client.call('restore', { ref: 'x', options: { paths: [7] as never } }),
    ).rejects.toMatchObject({ remoteKind: 'path-escape' });
  });

  it('cancels at the owner what the client aborts, and what it leaves behind when it goes', async () => {
    const { kit, client } = await connected();
    const ref = await client.call('checkpoint', {});
    for (const leave of ['abort', 'close'] as const) {
      const permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
      const controller = new AbortController();
      const reason = new Error('changed my mind');
      const call = client
        .call('restore', { ref }, { signal: controller.signal })
        .catch((error: unknown) => error);
      while (kit.coordinator.inspect().queued.length === 0) await settle(1);
      if (leave === 'abort') controller.abort(reason);
      else await client.close();
      const error = await call;
      if (leave === 'abort') expect(error).toBe(reason);
      else expect(error).toMatchObject({ code: 'SESSION_CONTROL_UNAVAILABLE', kind: 'disconnected' });
      while (kit.coordinator.inspect().queued.length > 0) await settle(1);
      permit.release();
    }
    await expect(client.call('describe', {})).rejects.toMatchObject({ kind: 'disconnected' });
  });

  it('goes with the session', async () => {
    const { kit, client, socket } = await connected();
    await kit.controller.shutdown();
    await expect(client.call('describe', {})).rejects.toMatchObject({ kind: 'disconnected' });
    expect(existsSync(socket)).toBe(false);
    const error = await ControlClient.connect(socket).catch((caught: unknown) => caught);
    if (!ControlUnavailableError.is(error)) throw error;
    expect(error.kind).toBe('not-listening');
  });

  it('of whoever took the session over stays when the earlier owner ends', async () => {
    const { kit, socket } = await connected();
    rmSync(socket);
    const later = createServer();
    await new Promise<void>((resolve) => later.listen(socket, () => resolve()));
    await kit.controller.shutdown();
    expect(existsSync(socket)).toBe(true);
    await new Promise<void>((resolve) => later.close(() => resolve()));
  });

  it('ends a client that does not speak the protocol', async () => {
    const { socket } = await connected();
    for (const line of ['garbage\n', '[]\n', 'null\n', '{"id":"x","method":1}\n']) {
      const raw = createConnection(socket);
      const closed = new Promise<void>((resolve) => raw.once('close', () => resolve()));
      raw.on('error', () => undefined);
      raw.write(line);
      await closed;
    }
  });

  it('ends an owner that does not speak the protocol', async () => {
    const socket = path.join(directory, 'fake.sock');
    const server = createServer((connection) => {
      connection.on('error', () => undefined);
      connection.resume();
      connection.write('garbage\n');
    });
    await new Promise<void>((resolve) => server.listen(socket, () => resolve()));
    const client = await ControlClient.connect(socket);
    clients.push(client);
    await expect(client.call('describe', {})).rejects.toMatchObject({ kind: 'protocol' });
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  it('takes the place of a dead owner, and refuses a place that others can enter or that is too deep', async () => {
    const { kit, socket } = await connected();
    await kit.controller.shutdown();
    // What a killed owner leaves behind: the name, and nobody listening.
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(`${socket}.x`, () => resolve()));
    const { linkSync } = await import('node:fs');
    linkSync(`${socket}.x`, socket);
    await new Promise<void>((resolve) => dead.close(() => resolve()));
    expect(existsSync(socket)).toBe(true);
    await Kit.open({ controlDirectory: directory });
    const client = await ControlClient.connect(socket);
    clients.push(client);
    expect((await client.call('describe', {})).phase).toBe('idle');

    const open = mkdtempSync(path.join(directory, 'open-'));
    chmodSync(open, 0o755);
    await expect(Kit.open({ controlDirectory: open })).rejects.toMatchObject({ kind: 'not-private' });
    await expect(Kit.open({ controlDirectory: `${directory}/${'deep'.repeat(25)}` })).rejects.toMatchObject({
      kind: 'path-too-long',
    });
  });

  it('connects with a signal', async () => {
    const { socket } = await connected();
    const reason = new Error('no');
    await expect(ControlClient.connect(socket, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const { client } = { client: clients[0] as ControlClient };
    await expect(client.call('describe', {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const held = barrier();
    held.open();
    await held.wait();
  });
});

async function page2(client: ControlClient, from: number): ReturnType<typeof client.call<'events'>> {
  return await client.call('events', { from, limit: 2 });
}
