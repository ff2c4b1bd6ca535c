import type { TreeText } from '@holdfast/durable/testing';
import type { Ref } from '@holdfast/workspacestore';

import type { StrategyBench } from '../strategy-bench.js';

/** A root that differs from its target in every way, the target, and both trees as text. */
export function arrange(bench: StrategyBench): {
  readonly ref: Ref;
  readonly before: TreeText;
  readonly after: TreeText;
} {
  bench.write({
    replaced: 'old',
    kept: 'kept',
    deleted: 'deleted',
    mode: 'mode',
    'directory/': null,
    'directory/x': 'x',
    'gone/': null,
    'gone/deep/': null,
    'gone/deep/y': 'y',
    file: 'file',
    link: { link: 'one' },
    tofile: { link: 'nowhere' },
  });
  bench.chmod('gone/deep', 0o500);
  const ref = bench.source.define(
    {
      replaced: { kind: 'file', content: 'new', mode: 0o640 },
      kept: { kind: 'file', content: 'kept', mode: 0o600 },
      mode: { kind: 'file', content: 'mode', mode: 0o755 },
      directory: { kind: 'file', content: 'now a file', mode: 0o600 },
      file: { kind: 'directory', mode: 0o750 },
      'file/z': { kind: 'file', content: 'z', mode: 0o400 },
      link: { kind: 'symlink', target: 'two' },
      tofile: { kind: 'file', content: 'was a link', mode: 0o600 },
      created: { kind: 'file', content: 'created', mode: 0o600 },
      fresh: { kind: 'directory', mode: 0o500 },
      'fresh/empty': { kind: 'directory', mode: 0o700 },
    },
    { rootMode: 0o700 },
  );
  const after: TreeText = {
    created: 'file 600 "created"',
    directory: 'file 600 "now a file"',
    file: 'directory 750',
    'file/z': 'file 400 "z"',
    fresh: 'directory 500',
    'fresh/empty': 'directory 700',
    kept: 'file 600 "kept"',
    link: 'symlink "two"',
    mode: 'file 755 "mode"',
    replaced: 'file 640 "new"',
    tofile: 'file 600 "was a link"',
  };
  return { ref, before: bench.tree(), after };
}
