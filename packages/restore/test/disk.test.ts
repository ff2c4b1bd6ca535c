import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { FileSystemError, nodeFileSystem } from '@holdfast/durable';
import { readTree } from '@holdfast/durable/testing';
import { previewRestore, reconcile, swap, WorkspaceRestoreError } from '@holdfast/restore';
import { afterEach, describe, expect, it } from 'vitest';

import { bench, temporaryDirectory } from './support/bench.js';
import { withCalls } from './support/forwarding.js';

const disk = nodeFileSystem();
const run = promisify(execFile);
const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.mjs`, import.meta.url));
const strategies = { reconcile: reconcile({ prune: 'exact' }), swap: swap() };
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** Makes a node of a kind at a path, with something of its own inside or behind it. */
const makers: Readonly<Record<string, (path: string) => void | Promise<void>>> = {
  nothing: () => undefined,
  file: (path) => {
    writeFileSync(path, `file ${path.length}`, { mode: 0o640 });
  },
  'empty file': (path) => {
    writeFileSync(path, '', { mode: 0o600 });
  },
  executable: (path) => {
    writeFileSync(path, '#!', { mode: 0o755 });
  },
  'empty directory': (path) => {
    mkdirSync(path, { mode: 0o750 });
  },
  'full directory': (path) => {
    mkdirSync(join(path, 'deep/er'), { recursive: true });
    writeFileSync(join(path, 'deep/er/x'), 'x');
    symlinkSync('../..', join(path, 'deep/er/up'));
    chmodSync(join(path, 'deep'), 0o500);
  },
  symlink: (path) => {
    symlinkSync('/etc/hostname', path);
  },
  'dangling symlink': (path) => {
    symlinkSync('nowhere', path);
  },
};

/** Nodes that no tree holds: a target never has them, a live root may. */
const specials: Readonly<Record<string, (path: string) => void | Promise<void>>> = {
  fifo: (path) => {
    execFileSync('mkfifo', [path]);
  },
  socket: async (path) => {
    const server = createServer().listen(path);
    servers.push(server);
    await new Promise((resolve) => server.once('listening', resolve));
  },
};

describe('what stood at a path and what the target has there', () => {
  for (const [label, strategy] of Object.entries(strategies)) {
    it(`may be of any two kinds: ${label}`, async () => {
      const b = bench();
      const pairs = Object.keys(makers).flatMap((from) =>
        Object.keys(makers).map((to) => ({ name: `${from} to ${to}`, from, to })),
      );
      const make = async (side: 'from' | 'to'): Promise<void> => {
        mkdirSync(b.root);
        for (const pair of pairs) await makers[pair[side]]?.(join(b.root, pair.name));
      };
      await make('to');
      const ref = b.source.capture(b.root);
      const wanted = readTree(disk, b.root);
      chmodAll(b.root);
      rmSync(b.root, { recursive: true });
      await make('from');
      const before = readTree(disk, b.root);
      const plan = await previewRestore(b.source, ref, b.root, { strategy });
      const receipt = await b.restore(ref, { strategy, plan, verify: 'all' });
      expect(receipt).toMatchObject({ strategy: label, exact: true });
      expect(readTree(disk, b.root)).toEqual(wanted);
      // And every way back, through a failure at the very end.
      chmodAll(b.root);
      rmSync(b.root, { recursive: true });
      await make('from');
      const failing = {
        ...strategy,
        fallback: undefined,
        commit: async (...call: Parameters<typeof strategy.commit>) => {
          await strategy.commit(...call);
          throw new Error('too bad');
        },
      };
      await expect(b.restore(ref, { strategy: failing })).rejects.toThrow(WorkspaceRestoreError);
      expect(readTree(disk, b.root)).toEqual(before);
      expect(readdirSync(b.base)).toEqual(['root']);
      chmodAll(b.root);
    });
  }

  it('may be special where the target has an entry, and only there is it replaced', async () => {
    for (const [special, makeSpecial] of Object.entries(specials)) {
      for (const [kind, make] of Object.entries(makers)) {
        const b = bench();
        mkdirSync(b.root);
        await make(join(b.root, 'here'));
        const ref = b.source.capture(b.root);
        const wanted = readTree(disk, b.root);
        chmodAll(b.root);
        rmSync(b.root, { recursive: true });
        mkdirSync(join(b.root, 'beside'), { recursive: true });
        await makeSpecial(join(b.root, 'here'));
        await makeSpecial(join(b.root, 'beside/other'));
        // The swap may not be used: it would take the special node away.
        const receipt = await b.restore(ref, { strategy: strategies.swap });
        expect(receipt.strategy).toBe('reconcile');
        const { beside: _b, 'beside/other': _o, ...found } = readTree(disk, b.root);
        const here =
          kind === 'nothing' ? { ...wanted, here: expect.stringContaining(special) as string } : wanted;
        expect(found, `${special} to ${kind}`).toEqual(here);
        const kept = lstatSync(join(b.root, 'beside/other'));
        expect(kept.isFIFO() || kept.isSocket()).toBe(true);
        expect(receipt.omitted).toContainEqual({ path: 'beside/other', reason: 'special' });
        chmodAll(b.root);
      }
    }
  });
});

describe('what is written', () => {
  for (const [label, strategy] of Object.entries({ reconcile: reconcile(), copied: reconcile() })) {
    it(`has as many bytes as the plan says: ${label}`, async () => {
      const b = bench();
      mkdirSync(join(b.root, 'same'), { recursive: true });
      for (let index = 0; index < 20; index += 1)
        writeFileSync(join(b.root, `same/${index}`), 'x'.repeat(1000 + index));
      writeFileSync(join(b.root, 'a'), 'a'.repeat(70_000));
      writeFileSync(join(b.root, 'gone'), 'g'.repeat(333));
      writeFileSync(join(b.root, 'empty'), '');
      const ref = b.source.capture(b.root);
      writeFileSync(join(b.root, 'a'), 'b'.repeat(123_456));
      rmSync(join(b.root, 'gone'));
      rmSync(join(b.root, 'empty'));
      chmodSync(join(b.root, 'same/3'), 0o600);
      const names = new Map<unknown, string>();
      let written = 0;
      let copied = 0;
      const counting = withCalls(disk, {
        createFile: (dir, name, mode) => {
          const file = disk.createFile(dir, name, mode);
          names.set(file, Buffer.from(name).toString());
          return file;
        },
        write: (file, bytes, position) => {
          // What has a number for a name is content; the rest is the intent.
          if (/^\d+$/.test(names.get(file) ?? '')) written += bytes.length;
          disk.write(file, bytes, position);
        },
        copyContent: (from, to, how) => {
          copied += disk.fstat(from).size;
          return disk.copyContent(from, to, how);
        },
        ...(label === 'copied'
          ? {
              link: () => {
                throw new FileSystemError('link', 'EPERM', 'no links here');
              },
            }
          : {}),
      });
      const plan = await previewRestore(b.source, ref, b.root, { strategy });
      const receipt = await b.restore(ref, { strategy, fileSystem: counting });
      expect(plan.bytes).toBe(70_333);
      expect([written, receipt.bytesWritten]).toEqual([plan.bytes, plan.bytes]);
      // Links move no bytes. Without them the undo copy of the replaced file, and every file once more into its place.
      expect(copied).toBe(label === 'copied' ? 123_456 + plan.bytes : 0);
      expect(receipt.notes?.map(({ kind }) => kind)).toEqual(
        label === 'copied' ? ['no-hard-links'] : undefined,
      );
      expect(b.source.capture(b.root)).toBe(ref);
    });
  }

  it('may be larger than the memory of the process', { timeout: 300_000 }, async () => {
    const base = temporaryDirectory();
    const { stdout } = await run(process.execPath, [
      '--max-old-space-size=48',
      fixture('large'),
      base,
      String(160 * 1024 * 1024),
    ]);
    const { peak, ...outcomes } = JSON.parse(stdout) as { peak: number };
    expect(outcomes).toEqual({ reconcile: [1, true], copying: [1, true], swap: [1, true] });
    expect(peak).toBeLessThan(160 * 1024 * 1024);
  });
});

describe('names and inodes', () => {
  it('of ten thousand files are all restored by a swap, by their bytes', { timeout: 300_000 }, async () => {
    const b = bench();
    const names = [Buffer.from([0x80, 0xfe]), Buffer.from('n'.repeat(255)), Buffer.from('new\nline')];
    mkdirSync(b.root);
    for (let directory = 0; directory < 100; directory += 1) {
      mkdirSync(join(b.root, `d${directory}`));
      for (let index = 0; index < 97; index += 1)
        writeFileSync(join(b.root, `d${directory}/f${index}`), `${directory} ${index}`);
      for (const name of names)
        writeFileSync(Buffer.concat([Buffer.from(`${b.root}/d${directory}/`), name]), `${directory}`);
    }
    const ref = b.source.capture(b.root);
    const wanted = readTree(disk, b.root);
    for (let directory = 0; directory < 50; directory += 1)
      rmSync(join(b.root, `d${directory}`), { recursive: true });
    const receipt = await b.restore(ref, { strategy: swap({ fallback: false }) });
    expect(receipt).toMatchObject({ strategy: 'swap', created: 5_050, exact: true });
    expect(readTree(disk, b.root)).toEqual(wanted);
  });

  it('with other names outside keep their bytes, mode and link count', async () => {
    for (const [label, strategy] of Object.entries(strategies)) {
      const b = bench();
      mkdirSync(b.root);
      for (const name of ['replaced', 'deleted', 'chmodded', 'kept'])
        writeFileSync(join(b.root, name), 'old');
      const ref = b.source.capture(b.root);
      mkdirSync(join(b.base, 'outside'));
      rmSync(b.root, { recursive: true });
      mkdirSync(b.root);
      for (const name of ['replaced', 'extra', 'chmodded', 'kept']) {
        const content = name === 'replaced' || name === 'extra' ? 'theirs' : 'old';
        writeFileSync(join(b.base, 'outside', name), content);
        linkSync(join(b.base, 'outside', name), join(b.root, name));
      }
      chmodSync(join(b.base, 'outside/chmodded'), 0o600);
      await b.restore(ref, { strategy });
      const outside = (name: string) => {
        const { mode, nlink } = statSync(join(b.base, 'outside', name));
        return [readFileSync(join(b.base, 'outside', name), 'utf8'), mode & 0o777, nlink];
      };
      expect(outside('replaced')).toEqual(['theirs', 0o644, 1]);
      expect(outside('extra')).toEqual(['theirs', 0o644, 1]);
      expect(outside('chmodded')).toEqual(['old', 0o600, 1]);
      expect(outside('kept')).toEqual(['old', 0o644, label === 'swap' ? 1 : 2]);
      expect(b.source.capture(b.root)).toBe(ref);
    }
  });
});

describe('between stage and commit', () => {
  for (const [label, strategy] of Object.entries({
    reconcile: reconcile({ prune: 'exact' }),
    swap: swap({ fallback: false }),
  })) {
    const arrange = () => {
      const b = bench();
      mkdirSync(b.root);
      writeFileSync(join(b.root, 'a'), 'new');
      const ref = b.source.capture(b.root);
      writeFileSync(join(b.root, 'a'), 'old');
      return { b, ref };
    };
    const failure = async (attempt: Promise<unknown>): Promise<string> => {
      const error = await attempt.then(
        () => undefined,
        (caught: unknown) => caught,
      );
      return WorkspaceRestoreError.is(error) ? error.kind : String(error);
    };

    it(`the loss of the lease leaves the old tree and no scratch: ${label}`, async () => {
      const { b, ref } = arrange();
      const steps: string[] = [];
      const health = (): Promise<void> => {
        // Asked when everything is ready, immediately before the first change.
        expect(steps.at(-1)).toBe('secure');
        return Promise.reject(new Error('the lease is lost'));
      };
      const onStep = (step: string): void => {
        steps.push(step);
      };
      expect(await failure(b.restore(ref, { strategy, health, onStep }))).toBe('lease-unhealthy');
      expect(steps).not.toContain('commit');
      expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('old');
      expect(readdirSync(b.base)).toEqual(['root']);
      expect(b.journal.types).toBe('started aborted');
    });

    for (const step of ['stage', 'secure', 'commit'] as const) {
      it(`a root that is replaced keeps its content, and so does the new one: ${label}, ${step}`, async () => {
        const { b, ref } = arrange();
        const onStep = (now: string): void => {
          if (now !== step) return;
          renameSync(b.root, join(b.base, 'moved'));
          mkdirSync(b.root);
          writeFileSync(join(b.root, 'a'), 'theirs');
        };
        const kind = await failure(b.restore(ref, { strategy, onStep }));
        expect(['root-replaced', 'rollback-failed']).toContain(kind);
        expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('theirs');
        expect(readFileSync(join(b.base, 'moved/a'), 'utf8')).toBe(
          step === 'commit' && kind === 'rollback-failed' && label === 'reconcile' ? 'new' : 'old',
        );
      });

      it(`a root that becomes a link is not followed: ${label}, ${step}`, async () => {
        const { b, ref } = arrange();
        mkdirSync(join(b.base, 'outside'));
        writeFileSync(join(b.base, 'outside/a'), 'host');
        const onStep = (now: string): void => {
          if (now !== step) return;
          renameSync(b.root, join(b.base, 'moved'));
          symlinkSync('outside', b.root);
        };
        expect(['symlink-root', 'root-replaced', 'rollback-failed']).toContain(
          await failure(b.restore(ref, { strategy, onStep })),
        );
        expect(readFileSync(join(b.base, 'outside/a'), 'utf8')).toBe('host');
        expect(readdirSync(join(b.base, 'outside'))).toEqual(['a']);
        expect(readlinkSync(b.root)).toBe('outside');
        expect(existsSync(join(b.base, 'moved/a'))).toBe(true);
      });
    }
  }
});

/** Makes everything deletable again. */
function chmodAll(root: string): void {
  execFileSync('chmod', ['-R', 'u+rwX', root]);
}
