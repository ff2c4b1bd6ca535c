import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { keepServer } from './kept-server.mjs';
import { accepts, freePort, startProcess } from './server-process.mjs';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'hf-kept-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A server program that counts its starts in a file and ends at the first ones. */
function server(port: number, endsAtFirst = 0) {
  const starts = path.join(directory, 'starts');
  const log = path.join(directory, 'log');
  const program = `
    const fs = require('node:fs');
    fs.appendFileSync(${JSON.stringify(starts)}, '.');
    if (fs.readFileSync(${JSON.stringify(starts)}).length <= ${endsAtFirst}) throw new Error('something is in the way');
    require('node:net').createServer().listen(${port}, '127.0.0.1');`;
  return {
    starts: () => (existsSync(starts) ? readFileSync(starts).length : 0),
    options: {
      name: 'a server',
      start: () => startProcess(process.execPath, ['-e', program], { log }),
      serves: async () => await accepts(port),
      log,
    },
  };
}

describe('keepServer', () => {
  test('starts a program again that ends instead of serving', async () => {
    const port = await freePort();
    const { options, starts } = server(port, 2);
    const kept = await keepServer(options);
    expect([starts(), await accepts(port)]).toEqual([3, true]);
    await kept.end('SIGTERM');
  });

  test('kills it, starts it at the same port, and leaves one alone that serves', async () => {
    const port = await freePort();
    const { options, starts } = server(port);
    const kept = await keepServer(options);
    await kept.restart();
    expect(starts()).toBe(1);
    await kept.kill();
    expect(await accepts(port)).toBe(false);
    await kept.kill();
    await kept.restart();
    expect([starts(), await accepts(port)]).toEqual([2, true]);
    await kept.end('SIGTERM');
    await kept.end('SIGTERM');
    expect(await accepts(port)).toBe(false);
    await expect(kept.restart()).rejects.toThrow('a server was ended for good');
  });

  test('gives up with the last lines of the log', async () => {
    const { options, starts } = server(await freePort(), Infinity);
    await expect(keepServer({ ...options, attempts: 2 })).rejects.toThrow(
      /a server: the server has ended\n(.*\n)*.*something is in the way/,
    );
    expect(starts()).toBe(2);
  });

  test('does not take another program at its port for the server', async () => {
    const port = await freePort();
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(port, '127.0.0.1', resolve);
    });
    const { options } = server(port);
    // The other one answers all the time; it is asked when the program has met it and has ended.
    let child: ReturnType<typeof startProcess> | undefined;
    const start = () => (child = options.start());
    const serves = async () => child?.running() === false && (await options.serves());
    try {
      await expect(keepServer({ ...options, start, serves, attempts: 1 })).rejects.toThrow(/EADDRINUSE/);
    } finally {
      other.close();
    }
  });
});

test('a free port is none that the kernel gives to outgoing connections', async () => {
  const file = '/proc/sys/net/ipv4/ip_local_port_range';
  const [first = 32_768] = existsSync(file) ? readFileSync(file, 'utf8').split(/\s+/).map(Number) : [];
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(Math.max(...ports)).toBeLessThan(first);
  expect(new Set(ports).size).toBe(ports.length);
});
