import { chooseHome, type OpenLocal, printable, runCommand } from '@holdfast/cli';
import { describe, expect, it } from 'vitest';

import { type FakeIoOptions, fakeIo } from './fake-io.js';

const neverOpened: OpenLocal = () => {
  throw new Error('the stack was opened');
};

async function run(words: readonly string[], options: FakeIoOptions = {}) {
  const io = fakeIo(options);
  const status = await runCommand(words, { io, openLocal: neverOpened, version: '1.2.3' });
  return { status, out: io.out(), err: io.err() };
}

describe('command line grammar', () => {
  it('prints an overview, the version, and help with an example for every command, on standard output', async () => {
    const overview = await run(['--help']);
    expect(overview).toMatchObject({ status: 0, err: '' });
    const names = [...overview.out.matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map((match) => match[1] as string);
    expect(names).toEqual(
      expect.arrayContaining(['snapshot', 'materialize', 'ls', 'cat', 'restore', 'recover', 'session log']),
    );
    for (const name of names) {
      const help = await run([...name.split(' '), '--help']);
      expect(help).toMatchObject({ status: 0, err: '' });
      expect(help.out).toContain(`example: holdfast ${name}`);
    }
    expect(await run(['--version'])).toMatchObject({ status: 0, out: '1.2.3\n' });
  });

  it.each([
    [[], 'no command was given'],
    [['frobnicate'], 'unknown command'],
    [['snapshot'], 'ROOT is missing'],
    [['snapshot', 'a', 'b'], 'unexpected argument "b"'],
    [['snapshot', 'a', '--bogus'], "Unknown option '--bogus'"],
    [['snapshot', 'a', '--home'], '--home'],
    [['snapshot', 'a', '--home', 'x', '--home', 'y'], 'given 2 times'],
    [['materialize', 'v1:sha256:00'], 'DEST is missing'],
    [['cat', 'x'], 'PATH is missing'],
    [['snapshot', ''], 'ROOT is empty'],
    [['restore', '0123456789', '', '--yes'], 'ROOT is empty'],
    [['snapshot', 'a', '--home', ''], '--home is empty'],
    [['snapshot', 'a', '--ignore', ''], '--ignore is empty'],
    [['cat', '0123456789', 'a\\nb'], 'PATH'],
    [['restore', '0123456789', 'a', '--yes', '--paths', 'x\\q'], '--paths'],
    [['session'], 'session needs one of: session new'],
  ])('refuses %j with status 2 and says why', async (words, reason) => {
    const { status, out, err } = await run(words);
    expect(status).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(reason);
    expect(err).toContain('CLI_USAGE');
  });

  it('prints the help of a group of commands, and of a command by its name', async () => {
    const group = await run(['session', '--help']);
    expect(group).toMatchObject({ status: 0, err: '' });
    expect(group.out).toMatch(/^ {2}session log {2}/m);
    expect(group.out).not.toMatch(/^ {2}snapshot /m);
    for (const words of [
      ['session', '-h'],
      ['help', 'session'],
    ])
      expect(await run(words)).toEqual(group);
    expect(await run(['-h'])).toEqual(await run(['--help']));
    const restore = await run(['restore', '--help']);
    expect(restore).toMatchObject({ status: 0, err: '' });
    expect(await run(['help', 'restore'])).toEqual(restore);
    expect(await run(['restore', '-h'])).toEqual(restore);
    expect((await run(['help', 'nothing'])).status).toBe(2);
  });

  it.each([
    [['snapshot', 'a', '--bogus'], "snapshot: Unknown option '--bogus' [CLI_USAGE]\n", 'snapshot'],
    [['snapshot', 'a', '--max-file-size', '1x'], undefined, 'snapshot'],
    [
      ['gc', '--grace', '-1s'],
      'gc: option --grace needs a value; write --grace=VALUE if it begins with',
      'gc',
    ],
    [['--json=1', 'gc'], undefined, undefined],
    [['session', 'log'], undefined, 'session log'],
    [['session', 'frobnicate'], undefined, 'session'],
  ])('says what was wrong with %j once, and which help to read', async (words, reason, command) => {
    const { err } = await run(words);
    if (reason !== undefined) expect(err).toContain(reason);
    expect(err).not.toContain('because');
    expect(err).toMatch(new RegExp(`\ntry: holdfast ${command === undefined ? '' : `${command} `}--help\n$`));
  });

  it('refuses commands that are specified and not built as not available', async () => {
    for (const words of [['hook'], ['run', 'x'], ['mcp']]) {
      const { status, err } = await run(words);
      expect(status).toBe(1);
      expect(err).toContain('CLI_NOT_AVAILABLE');
    }
  });

  it('takes the options that every command has before it too', async () => {
    const { status, err } = await run(['--json', '--home', '/h', 'snapshot', '/nowhere/at/all']);
    expect(status).toBe(1);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'CLI_ROOT', kind: 'missing' } });
  });

  it('prints errors as one JSON object on standard error with --json', async () => {
    const { status, out, err } = await run(['snapshot', '/nowhere/at/all', '--json']);
    expect(status).toBe(1);
    expect(out).toBe('');
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'CLI_ROOT', kind: 'missing', root: '/nowhere/at/all' },
    });
  });

  it.each([
    ['1x', 'not a byte count'],
    ['-1', 'max-file-size'],
    ['1.5', 'not a byte count'],
    ['99999999999999999999', 'not a byte count'],
  ])('refuses --max-file-size %s', async (value, reason) => {
    const { status, err } = await run(['snapshot', '/', '--max-file-size', value]);
    expect(status).toBe(2);
    expect(err).toContain(reason);
  });
});

describe('questions', () => {
  it('refuses a change nobody can confirm, before anything is opened', async () => {
    for (const words of [
      ['restore', '0123456789abcdef', '.'],
      ['session', 'undo', 'some-session'],
    ]) {
      const { status, out, err } = await run(words, { cwd: import.meta.dirname });
      expect({ status, out }).toEqual({ status: 1, out: '' });
      expect(err).toContain('CLI_CONFIRMATION');
      // An option that the command does not have is no advice.
      const options = (await run([...words.slice(0, words[0] === 'session' ? 2 : 1), '--help'])).out;
      expect(err.includes('--dry-run')).toBe(options.includes('--dry-run'));
    }
  });
});

describe('chooseHome', () => {
  const base = { env: {}, cwd: '/cwd', platform: 'linux', userHome: '/home/u' } as const;

  it('prefers --home, then HOLDFAST_HOME, then the data directory of the platform', () => {
    expect(chooseHome('rel', { ...base, env: { HOLDFAST_HOME: '/e' } })).toBe('/cwd/rel');
    expect(chooseHome(undefined, { ...base, env: { HOLDFAST_HOME: '/e' } })).toBe('/e');
    expect(chooseHome('', { ...base, env: { HOLDFAST_HOME: '' } })).toBe('/home/u/.local/share/holdfast');
    expect(chooseHome(undefined, { ...base, env: { XDG_DATA_HOME: '/x' } })).toBe('/x/holdfast');
    expect(chooseHome(undefined, { ...base, env: { XDG_DATA_HOME: 'relative' } })).toBe(
      '/home/u/.local/share/holdfast',
    );
    expect(chooseHome(undefined, { ...base, platform: 'darwin' })).toBe(
      '/home/u/Library/Application Support/holdfast',
    );
    expect(chooseHome(undefined, { ...base, platform: 'win32', env: { LOCALAPPDATA: 'C:\\L' } })).toBe(
      'C:\\L\\holdfast',
    );
  });
});

describe('printable', () => {
  it('shows what could drive a terminal or forge a line', () => {
    expect(printable('a\u001b[2Jb\nc\u202ed\u007f\u0085')).toBe(
      'a\\x1B[2Jb\\x0Ac\\xE2\\x80\\xAEd\\x7F\\xC2\\x85',
    );
    expect(printable('公共 émoji 😀')).toBe('公共 émoji 😀');
  });
});
