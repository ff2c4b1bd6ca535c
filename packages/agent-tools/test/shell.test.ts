import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { ProcessesLeftError } from '@holdfast/agent-tools';
import type { Clock } from '@holdfast/base';
import { systemClock } from '@holdfast/base';
import type { OpenedSession } from '@holdfast/rig';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { Bench, failure } from './support/bench.js';

/** Running, that is: neither gone nor a zombie that nobody has collected. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] as string);
  } catch {
    return false;
  }
}

async function pidsIn(bench: Bench, name: string, count: number): Promise<number[]> {
  return await vi.waitFor(
    () => {
      const pids = bench.text(name).trim().split(/\s+/).map(Number);
      expect(pids).toHaveLength(count);
      return pids;
    },
    { timeout: 120_000 },
  );
}

/** A shell, a child, a child of a child, and one that has left the process group. */
const family = [
  'echo $$ > pids',
  "sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; wait' &",
  "setsid sh -c 'echo $$ >> pids; exec sleep 600' &",
].join('\n');

describe('shell', () => {
  it('returns what a command did', async () => {
    const bench = await new Bench().open();
    const result = await bench.run((tools) =>
      tools.shell.call({ command: 'pwd; echo oops >&2; printf "%s" "$HOLDFAST_SECRET" > made.txt; exit 3' }),
    );
    expect(result).toMatchObject({
      exitCode: 3,
      signal: null,
      timedOut: false,
      stdout: `${bench.root}\n`,
      stderr: 'oops\n',
      stdoutOmitted: 0,
    });
    expect(bench.text('made.txt')).toBe('');
  });

  it('gives commands nothing of the environment that may be secret', async () => {
    process.env['HOLDFAST_SECRET'] = 'key';
    onTestFinished(() => {
      delete process.env['HOLDFAST_SECRET'];
    });
    const bench = await new Bench().open();
    const inherited = await bench.run((tools) => tools.shell.call({ command: 'env' }));
    expect(inherited.stdout).toContain('PATH=');
    expect(inherited.stdout).not.toContain('key');
    const own = await new Bench().open({ shell: { environment: { GREETING: 'hello' } } });
    const given = await own.run((tools) => tools.shell.call({ command: 'echo $GREETING' }));
    expect(given.stdout).toBe('hello\n');
  });

  it('has an empty input and does not leave its guard pipe open', async () => {
    const bench = await new Bench().open();
    const result = await bench.run((tools) =>
      tools.shell.call({
        command: 'cat; if { true <&3; } 2>/dev/null; then echo open; else echo closed; fi',
      }),
    );
    expect(result).toMatchObject({ exitCode: 0, stdout: 'closed\n' });
  });

  it('keeps the beginning and the end of a long output', async () => {
    const bench = await new Bench().open({ limits: { outputBytes: 20 } });
    const result = await bench.run((tools) =>
      tools.shell.call({
        command: 'printf 0123456789; head -c 1000000 /dev/zero | tr "\\0" x; printf abcdefghij',
      }),
    );
    expect(result.stdout).toBe('0123456789\n[1000000 bytes left out]\nabcdefghij');
    expect(result.stdoutOmitted).toBe(1_000_000);
  });

  it('ends background processes with the command, also those that left its process group', async () => {
    const bench = await new Bench().open();
    const command = `${family}\nwhile [ "$(wc -l < pids)" -lt 4 ]; do sleep 0.01; done`;
    const result = await bench.run((tools) => tools.shell.call({ command }));
    expect(result.exitCode).toBe(0);
    const pids = await pidsIn(bench, 'pids', 4);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it.each([
    ['that obeys', ''],
    ['that ignores SIGTERM', 'trap "" TERM; '],
  ])('kills the whole process group of a command %s on an abort', async (_, prefix) => {
    const bench = await new Bench().open({ shell: { graceMs: 50 } });
    const abort = new AbortController();
    const reason = new Error('enough');
    const call = failure(
      bench.run((tools) =>
        tools.shell.call({ command: `${prefix}${family}\nwait` }, { signal: abort.signal }),
      ),
    );
    const pids = await pidsIn(bench, 'pids', 4);
    expect(pids.every(isRunning)).toBe(true);
    abort.abort(reason);
    expect(await call).toBe(reason);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('lets a command clean up when it is cut short', async () => {
    const bench = await new Bench().open({ shell: { graceMs: 60_000 } });
    const abort = new AbortController();
    const command =
      "trap 'sleep 0.3; rm lock; exit 1' TERM; touch lock; echo $$ > pids; while :; do sleep 0.01; done";
    const call = failure(bench.run((tools) => tools.shell.call({ command }, { signal: abort.signal })));
    await pidsIn(bench, 'pids', 1);
    abort.abort(new Error('enough'));
    await call;
    expect(() => bench.text('lock')).toThrow('ENOENT');
  });

  it('is ended by an interrupt of its turn', async () => {
    const bench = await new Bench().open({ shell: { graceMs: 50 } });
    const call = failure(
      bench.run((tools, signal) => tools.shell.call({ command: `${family}\nwait` }, { signal })),
    );
    const pids = await pidsIn(bench, 'pids', 4);
    await (bench.session as OpenedSession).interrupt({ loop: 'one', reason: 'stop it' });
    expect(String(await call)).toContain('interrupted: stop it');
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('is cut short when its time is over, and says so with what it printed', async () => {
    const bench = await new Bench().open({ shell: { graceMs: 50 } });
    const result = await bench.run((tools) =>
      tools.shell.call({ command: 'echo begun; sleep 600', timeoutMs: 300 }),
    );
    expect(result).toMatchObject({ timedOut: true, stdout: 'begun\n' });
    expect(result.exitCode).not.toBe(0);
  });

  it('keeps changes of other loops waiting, and waits while one changes something', async () => {
    const bench = await new Bench().open();
    const shell = bench.run(
      (tools) => tools.shell.call({ command: 'touch begun; while [ ! -e go ]; do sleep 0.01; done; ls' }),
      'two',
    );
    await expect.poll(() => existsSync(bench.at('begun'))).toBe(true);
    const write = bench.run((tools) => {
      const written = tools.write.call({ path: 'b.txt', content: 'x' });
      bench.write('go', '');
      return written;
    });
    expect((await shell).stdout).toBe('begun\ngo\n');
    expect((await write).created).toBe(true);
  });

  it('keeps a restore out until its last process is gone', async () => {
    const bench = await new Bench().open();
    const session = bench.session as OpenedSession;
    bench.write('a.txt', 'old');
    const ref = await session.checkpointWorkspace();
    await bench.run((tools) =>
      tools.shell.call({ command: '(while :; do echo new > a.txt; done) & sleep 0.1' }),
    );
    await session.restoreWorkspace(ref);
    expect(bench.text('a.txt')).toBe('old');
    const { outcome } = await session.submit('nothing', { loop: 'one' });
    await outcome;
    expect(bench.text('a.txt')).toBe('old');
  });

  it.each([
    ['a shell that is not there', { program: '/nowhere/sh' }, 'true', { exitCode: 127 }],
    ['a command that is not there', {}, 'no-such-command-anywhere', { exitCode: 127 }],
    ['a command that kills itself', {}, 'kill -KILL $$', { exitCode: 137 }],
  ])('reports %s', async (_, shell, command, expected) => {
    const bench = await new Bench().open({ shell });
    expect(await bench.run((tools) => tools.shell.call({ command }))).toMatchObject(expected);
  });

  it('refuses a command that cannot be passed on', async () => {
    const bench = await new Bench().open();
    const error = await failure(bench.run((tools) => tools.shell.call({ command: 'echo a\0b' })));
    expect(error).toMatchObject({ code: 'AGENT_TOOLS_SHELL_START' });
  });

  it('names processes that do not go away, and keeps the workspace for them until they do', async () => {
    let time = 0;
    const hurried: Clock = {
      ...systemClock,
      monotonic: () => time,
      sleep: async (milliseconds) => {
        time += milliseconds * 20;
        await systemClock.sleep(1);
      },
    };
    const bench = await new Bench().open({ clock: hurried });
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    onTestFinished(() => {
      kill.mockRestore();
    });
    const command = 'sleep 600 & echo $! > pids';
    const error = await failure(bench.run((tools) => tools.shell.call({ command })));
    const [pid] = await pidsIn(bench, 'pids', 1);
    expect(ProcessesLeftError.is(error)).toBe(true);
    expect(error).toMatchObject({ pids: [pid] });
    expect(isRunning(pid as number)).toBe(true);
    const write = bench.run((tools) => tools.write.call({ path: 'a.txt', content: 'x' }));
    expect(isRunning(pid as number)).toBe(true);
    kill.mockRestore();
    expect((await write).created).toBe(true);
    expect(isRunning(pid as number)).toBe(false);
  });
});

it('does not outlive its owner, however that one ends', async () => {
  const bench = new Bench();
  const fixture = fileURLToPath(new URL('fixtures/owner.mjs', import.meta.url));
  const command = 'echo $$ > pids; sh -c "echo \\$\\$ >> pids; sleep 600" & wait';
  const owner = spawn(process.execPath, [fixture, bench.root, command], { stdio: 'ignore' });
  const pids = await pidsIn(bench, 'pids', 2);
  expect(pids.every(isRunning)).toBe(true);
  owner.kill('SIGKILL');
  await expect.poll(() => pids.filter(isRunning)).toEqual([]);
});
