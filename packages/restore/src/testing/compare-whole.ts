import type { ComparedTrees, LiveEntry, LiveTree, Tree, TreeEntry } from '@holdfast/workspacestore';

import { isWithin, parentKey, pathKey } from '../internal/path-key.js';

/**
 * What `compare` of a source gives, the slow and obvious way: from both whole trees. For sources in tests, and to judge
 * sources that are quicker.
 */
export function compareWhole(live: LiveTree, target: Tree): ComparedTrees {
  const omitted = [...live.omitted, ...target.omitted].map(({ path }) => pathKey(path));
  const directories = new Set(
    [...live.entries, ...target.entries]
      .filter(({ kind }) => kind === 'directory')
      .map(({ path }) => pathKey(path)),
  );
  const below = (entries: readonly TreeEntry[], key: string): readonly TreeEntry[] =>
    entries.filter(({ path }) => pathKey(path) !== key && isWithin(pathKey(path), key));
  const isDirectory = (entries: readonly TreeEntry[], key: string): boolean =>
    key === '' || entries.some(({ path, kind }) => kind === 'directory' && pathKey(path) === key);
  const isEqual = (key: string): boolean => {
    if (omitted.some((path) => path !== key && isWithin(path, key))) return false;
    if (!isDirectory(live.entries, key) || !isDirectory(target.entries, key)) return false;
    const [a, b] = [below(live.entries, key), below(target.entries, key)];
    return a.length === b.length && a.every((entry, at) => describe(entry) === describe(b[at] as TreeEntry));
  };
  const listed = new Set<string>();
  const visit = (key: string): void => {
    if (isEqual(key)) return;
    listed.add(key);
    for (const child of directories) if (child !== '' && parentKey(child) === key) visit(child);
  };
  visit('');
  const isListed = ({ path }: TreeEntry): boolean => listed.has(parentKey(pathKey(path)));
  return {
    live: { ...live, entries: live.entries.filter(isListed) },
    target: { ...target, entries: target.entries.filter(isListed) },
    listed: [...listed].map((key) => Buffer.from(key, 'latin1')),
    unlisted: live.entries.filter((entry) => !isListed(entry)).length,
    changedSince: (sinceNs, most) =>
      live.entries
        .filter(({ signature }: LiveEntry) => signature.ctimeNs >= sinceNs || signature.mtimeNs >= sinceNs)
        .slice(0, most),
  };
}

function describe({ path, kind, mode, size, content, target }: TreeEntry): string {
  return JSON.stringify([
    pathKey(path),
    kind,
    kind === 'symlink' ? 0 : mode,
    size,
    content ?? null,
    target === undefined ? null : pathKey(target),
  ]);
}
