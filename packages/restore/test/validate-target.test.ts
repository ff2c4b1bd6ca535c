import { planRestore, RestoreTargetError, validateTarget } from '@holdfast/restore';
import type { ContentKey, Tree, TreeEntry } from '@holdfast/workspacestore';
import { describe, expect, it } from 'vitest';

import { ModelTree } from './support/model-tree.js';

const content = 'a'.repeat(64) as ContentKey;
const file = (path: string | Uint8Array, more: Partial<TreeEntry> = {}): TreeEntry => ({
  path: typeof path === 'string' ? Buffer.from(path, 'latin1') : path,
  kind: 'file',
  mode: 0o644,
  size: 1,
  content,
  ...more,
});
const dir = (path: string): TreeEntry => file(path, { kind: 'directory', content: undefined, size: 0 });
const tree = (entries: readonly TreeEntry[], more: Partial<Tree> = {}): Tree => ({
  ref: `v1:sha256:${'0'.repeat(64)}` as Tree['ref'],
  rootMode: 0o755,
  treeKey: '0'.repeat(64),
  omitted: [],
  ignore: [],
  entries,
  ...more,
});

const hostile: readonly (readonly [string, string, Tree])[] = [
  ['name', 'a component ".."', tree([file('..')])],
  ['name', 'a component "."', tree([file('.')])],
  ['name', 'an absolute path', tree([file('/x')])],
  ['name', 'an empty path', tree([file('')])],
  ['name', 'a trailing slash', tree([file('a/')])],
  ['name', 'a NUL', tree([file('a\0b')])],
  ['name', 'a component of 256 bytes', tree([file('n'.repeat(256))])],
  ['name', 'a path of 4,096 bytes', tree([file(`${'n'.repeat(200)}/`.repeat(20) + 'n'.repeat(76))])],
  ['limit', '257 components', tree([file(Array.from({ length: 257 }, () => 'd').join('/'))])],
  ['duplicate', 'the same path twice', tree([file('a'), file('a')])],
  [
    'duplicate',
    'a link and a file of one name',
    tree([file('a', { kind: 'symlink', target: Buffer.from('x') }), file('a')]),
  ],
  ['order', 'entries out of order', tree([file('b'), file('a')])],
  ['order', 'a directory after a name that follows it', tree([file('a.b'), dir('a')])],
  ['parent', 'a file below a file', tree([file('a'), file('a/b')])],
  [
    'parent',
    'a file below a link',
    tree([file('a', { kind: 'symlink', target: Buffer.from('/') }), file('a/b')]),
  ],
  ['parent', 'a missing parent', tree([file('a/b')])],
  ['mode', 'a mode with set-id bits', tree([file('a', { mode: 0o4755 })])],
  ['mode', 'a root mode beyond 0o777', tree([], { rootMode: 0o1777 })],
  ['size', 'a negative size', tree([file('a', { size: -1 })])],
  ['size', 'a size beyond whole numbers', tree([file('a', { size: 2 ** 60 })])],
  ['kind', 'an unknown kind', tree([file('a', { kind: 'fifo' as never })])],
  ['kind', 'a file without content', tree([file('a', { content: undefined })])],
  ['kind', 'a malformed content key', tree([file('a', { content: 'A'.repeat(64) as ContentKey })])],
  ['link-target', 'an empty link target', tree([file('a', { kind: 'symlink', target: new Uint8Array() })])],
  [
    'link-target',
    'a link target with NUL',
    tree([file('a', { kind: 'symlink', target: Buffer.from('a\0') })]),
  ],
  [
    'link-target',
    'a link target of 4,096 bytes',
    tree([file('a', { kind: 'symlink', target: Buffer.alloc(4096, 'x') })]),
  ],
];

describe('a hostile or broken target', () => {
  for (const [rule, name, target] of hostile) {
    it(`is refused before anything is touched: ${name}`, async () => {
      const live = await new ModelTree({ a: 'a' }).live();
      let caught: unknown;
      try {
        planRestore(live, target);
      } catch (error) {
        caught = error;
      }
      expect(RestoreTargetError.is(caught) && caught.rule).toBe(rule);
    });
  }

  it('has at most as many entries as allowed', () => {
    expect(() => validateTarget(tree([file('a'), file('b')]), { entries: 2 })).not.toThrow();
    expect(() => validateTarget(tree([file('a'), file('b'), file('c')]), { entries: 2 })).toThrow(
      RestoreTargetError,
    );
  });

  it('may use every byte that a name may hold', () => {
    const names = ['-rf', ' lead ', 'bad\xff.bin', 'new\nline', '\\', 'n'.repeat(255)].sort();
    expect(() => validateTarget(tree(names.map((name) => file(name))))).not.toThrow();
  });
});
