import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Dir } from '@holdfast/durable';
import { ModelFileSystem, TracingFileSystem } from '@holdfast/durable/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { run } from '../../shared/process.mjs';
import { repositoryRoot } from '../../shared/workspace.mjs';
import { subjects } from '../subjects/index.mjs';
import { kernelChanges, traced } from './kernel-changes.mjs';

const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'holdfast-trace-')));
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

/** Subjects with one client, which does one thing after the other. */
const sequential = new Set(['recovery of a restore', 'session open']);

/** Writers draw their names, and archives are named after what is in them, the writer among it. */
const withoutDraws = (line: string): string =>
  line.replaceAll(/\/[+@]?[0-9a-f]{2,}(?:-\d+)?(?=\/|\s|$)/g, '/#');

/** In the words that all three share: how a mode is set, and bytes are copied, is the adapter's business. */
function common(changes: readonly string[], parent: string): string[] {
  return changes
    .filter((line) => !/ E[A-Z]+$/.test(line) && line !== `sync ${parent}`)
    .map((line) => line.replace(/^chmodAt /, 'chmod ').replace(/^copyContent /, 'write '))
    .map(withoutDraws);
}

/** What the model is told to do by the same subject. */
async function changesOnModel(name: string): Promise<string[]> {
  const subject = subjects.find((candidate) => candidate.name === name);
  const trace = new TracingFileSystem(new ModelFileSystem());
  using root = Dir.openRoot(trace, '/');
  root.mkdir('work');
  const place = { fileSystem: trace, directory: '/work', seed: 1 };
  await subject?.setup?.(place);
  trace.reset();
  await subject?.run(place, { acked: [], ack: () => undefined });
  return common(trace.changes('/work'), '/');
}

/** Without directories whose names were drawn: whether one is made, or was there, is chance. */
function withoutDrawnDirectories(lines: readonly string[]): string[] {
  return lines.filter((line) => !/^mkdir .*\/#$/.test(line));
}

describe('what the model is told, what the adapter is told and what the kernel is told', () => {
  it.each(subjects.map(({ name }) => name))('are the same: %s', async (name) => {
    const directory = path.join(scratch, name.replaceAll(' ', '-'));
    mkdirSync(directory);
    const facts = `${directory}.facts`;
    const step = [process.execPath, path.join(repositoryRoot, 'tools/crash/disk/step.mjs')];
    const prepared = await run(step[0] as string, [step[1] as string, 'setup', name, '1', directory, facts]);
    expect(prepared.output, 'the setup').toMatch(/^\d+$/m);
    const log = `${directory}.strace`;
    const strace = ['-f', '-qq', '-s', '4096', '-o', log, '-e', `trace=${traced.join()}`];
    const { code, output } = await run('strace', [...strace, ...step, 'run', name, '1', directory, facts], {
      env: { ...process.env, HOLDFAST_TRACE: `${directory}.trace` },
    });
    const onModel = await changesOnModel(name);
    if (code === 127 || output.includes('Operation not permitted')) {
      // Without strace the kernel's part cannot be had; the adapter's still has to agree with the model.
      await run(step[0] as string, [step[1] as string, 'run', name, '1', directory, facts], {
        env: { ...process.env, HOLDFAST_TRACE: `${directory}.trace` },
      });
      console.log('left out: strace is not installed');
    }
    const adapter = common(JSON.parse(readFileSync(`${directory}.trace`, 'utf8')) as string[], scratch);
    expect(adapter.length).toBeGreaterThan(20);
    // Clients beside each other may take turns otherwise, and directories list their names in another order.
    expect(withoutDrawnDirectories(adapter).toSorted()).toEqual(withoutDrawnDirectories(onModel).toSorted());
    if (code !== 0) return;
    const kernel = kernelChanges(readFileSync(log, 'utf8'), directory).map(withoutDraws);
    expect(kernel.toSorted()).toEqual(adapter.toSorted());
    // Syncs of clients beside each other wait for a thread; everything else is in order.
    const isSync = (line: string) => line.startsWith('sync ');
    expect(kernel.filter((line) => !isSync(line))).toEqual(adapter.filter((line) => !isSync(line)));
    if (sequential.has(name)) expect(kernel).toEqual(adapter);
  });
});

describe('the output of strace', () => {
  it('is read with its threads, descriptors, failures and quotes', () => {
    const output = [
      '7 openat(AT_FDCWD, "/base", O_RDONLY|O_DIRECTORY) = 3',
      '7 openat(AT_FDCWD, "/proc/7/fd/3/\\303\\244", O_RDWR|O_CREAT|O_EXCL, 0600) = 4',
      '7 openat(AT_FDCWD, "/proc/7/fd/3/a", O_RDWR|O_CREAT|O_EXCL, 0600) = -1 EEXIST (File exists)',
      '7 pwrite64(4, "x\\"y", 3, 0) = 3',
      '7 pwrite64(4, "z", 1, 3) = 1',
      '8 fsync(4 <unfinished ...>',
      '7 mkdir("/proc/7/fd/3/d", 0700) = 0',
      '8 <... fsync resumed>) = 0',
      '7 link("/proc/7/fd/3/\\303\\244", "/proc/7/fd/3/b") = 0',
      '7 rename("/elsewhere/x", "/elsewhere/y") = 0',
      '7 write(1, "shown", 5) = 5',
    ].join('\n');
    expect(kernelChanges(output, '/base')).toEqual([
      'createFile /ä',
      'write /ä',
      'write /ä',
      'sync /ä',
      'mkdir /d',
      'link /ä → /b',
    ]);
  });
});
