import { runCommand } from '@holdfast/cli';
import { expect, it } from 'vitest';
import type { LocalStack } from '../src/stack.js';
import { fakeIo } from './fake-io.js';

/** A home of one session. Its parts that could delete something are not there. */
function home(): LocalStack {
  const view = {
    fold: { placement: { mode: 'exclusive', root: '/somewhere/project' } },
    [Symbol.asyncDispose]: async () => await Promise.resolve(),
  };
  const sessions = {
    resolve: async () => await Promise.resolve('session-0001'),
    read: async () => await Promise.resolve(view),
  };
  return { sessions, close: async () => await Promise.resolve() } as unknown as LocalStack;
}

it('a session is deleted only after a person who was told what goes and what stays said yes', async () => {
  for (const answers of [['n'], [''], []]) {
    const io = fakeIo({ terminal: true, answers });
    const openLocal = async () => await Promise.resolve(home());
    const status = await runCommand(['session', 'delete', 'session-'], { io, openLocal, version: '0.0.0' });
    expect([status, io.out()]).toEqual([1, '']);
    expect(io.err()).toMatch(
      /^session session-0001: .* gone for good.* files in \/somewhere\/project stay;.* next gc .*\ndelete this session\? \[y\/N\] /,
    );
    expect(io.err()).toContain('declined; nothing was touched [CLI_CONFIRMATION]');
  }
});
