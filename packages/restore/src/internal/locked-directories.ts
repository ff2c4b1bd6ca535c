import type { Dir, Stat } from '@holdfast/durable';

import type { StrategyContext } from '../strategy.js';
import { parentKey, pathKey } from './path-key.js';
import type { RootWalker } from './root-walker.js';
import type { LockedDirectory } from './undo-record.js';

const ownerMayChange = 0o700;

/** Finds the directories whose names will change although their mode forbids it to their owner, who may unlock them. */
export async function findLocked(
  context: StrategyContext,
  walker: RootWalker,
  made: ReadonlySet<string>,
): Promise<readonly LockedDirectory[]> {
  const seen = new Set<string>();
  const locked: LockedDirectory[] = [];
  for (const { action, path } of context.operations) {
    if (action === 'chmod') continue;
    const key = parentKey(pathKey(path));
    if (seen.has(key) || made.has(key)) continue;
    seen.add(key);
    const stat = walker.directory(key).stat();
    if (canUnlock(stat)) locked.push({ key, mode: stat.mode & 0o7777 });
    await context.pause();
  }
  return locked;
}

/** Whether a directory keeps its owner out and this process may change that. */
export function canUnlock(stat: Stat): boolean {
  if ((stat.mode & ownerMayChange) === ownerMayChange) return false;
  const user = process.geteuid?.() ?? 0;
  return user === 0 || stat.uid === user;
}

/** The mode that lets the owner change a directory. */
export function unlockedMode(mode: number): number {
  return (mode & 0o7777) | ownerMayChange;
}

/** Unlocks an open directory for a while. */
export function unlock(dir: Dir): void {
  dir.chmod(unlockedMode(dir.stat().mode));
}
