import type { JsonValue } from '@holdfast/base';
import { type Dir, FileSystemError, removeTree, sweepTemporaries } from '@holdfast/durable';

import { WorkspaceRestoreError } from './errors.js';
import { damaged, matching, members } from './internal/intent-codec.js';
import { RootWalker } from './internal/root-walker.js';
import { identityOf, isSameIdentity } from './internal/signature.js';
import { stageTree } from './internal/stage-tree.js';
import { hasStandingProcess } from './internal/standing-processes.js';
import { recentlyKept, syncKept } from './internal/sync-recent.js';
import { reconcile } from './reconcile.js';
import type { RootIdentity } from './restore-journal.js';
import type { DiscardContext, PreparationContext, RestoreStrategy, StrategyContext } from './strategy.js';

export interface SwapOptions {
  /** `false`: refuse with `swap-unavailable` instead of reconciling in place when a swap would lose something. */
  readonly fallback?: boolean | undefined;
}

/**
 * Restores by building the whole target tree beside the root and exchanging the two by renames in their parent. For roots
 * of one session, in a parent that only their owner changes. The result is exact; the root gets a new inode. Where a swap
 * would lose something the tree is reconciled in place instead, pruned exactly.
 */
export function swap(options: SwapOptions = {}): RestoreStrategy {
  return Object.freeze({
    contract: 'restore-strategy/1',
    name: 'swap',
    prune: 'exact',
    fallback: options.fallback === false ? undefined : reconcile({ prune: 'exact' }),
    unavailable: (context: PreparationContext) => Promise.resolve(whyUnavailable(context)),
    stage,
    secure,
    commit,
    undo,
    discard,
  });
}

/**
 * The name of the new tree until it gets the root's. It says of which restore, so that what has it can be removed when
 * nothing else is known: no other program comes upon it.
 */
function stagingName(context: StrategyContext): Uint8Array {
  return Buffer.concat([
    Buffer.from('.'),
    context.rootName,
    Buffer.from(`.staging-${context.restoreId}`, 'latin1'),
  ]);
}

/** What earlier versions called it. Anybody may have made that: only the recorded identity tells. */
function namelessStagingName(context: StrategyContext): Uint8Array {
  return Buffer.concat([Buffer.from('.'), context.rootName, Buffer.from('.staging')]);
}

/** The name of the old tree after it lost the root's. */
function backupName(context: StrategyContext): Uint8Array {
  return Buffer.concat([Buffer.from('.'), context.rootName, Buffer.from('.backup')]);
}

function whyUnavailable(context: PreparationContext): string | undefined {
  const { plan, parent, root } = context;
  if (context.scratch === 'inside') return 'scratch is inside the root';
  const alone = plan.omitted.filter(({ reason }) => reason !== 'unrestorable');
  if (alone.length > 0) return `${alone.length} entries are left alone, the first is ${alone[0]?.path}`;
  if (!plan.exact) return 'only a part of the tree is restored';
  if (stagingName(context).length > 255) return 'the name of the root leaves no room for its siblings';
  for (const name of [stagingName(context), backupName(context)]) {
    if (parent.lstat(name) !== undefined)
      return `something has the name ${Buffer.from(name).toString('utf8')}`;
  }
  if (context.occupied() || hasStandingProcess(context.rootPath)) return 'a process stands in the root';
  return mayRename(parent, root) ? undefined : 'the parent lets nobody else rename the root';
}

/** In a sticky directory only the owners of the parent and of the child may rename it. */
function mayRename(parent: Dir, root: Dir): boolean {
  const user = process.geteuid?.();
  const { mode, uid } = parent.stat();
  return (
    user === undefined || user === 0 || (mode & 0o1000) === 0 || uid === user || root.stat().uid === user
  );
}

// 1. Make the staging directory.
// 2. Build the whole target tree in it, every file hashed and synced, every directory synced, deepest first.
async function stage(context: PreparationContext): Promise<void> {
  const name = stagingName(context);
  context.parent.mkdir(name, 0o700);
  using staging = context.parent.openDir(name);
  await stageTree(context, staging);
}

// 1. Sync what is so young in the old tree that nobody may have: as a backup it has to be whole.
async function secure(context: PreparationContext): Promise<JsonValue> {
  const { wholeSync } = context;
  const young = recentlyKept({ ...context, operations: [] }, wholeSync?.from);
  if (wholeSync !== undefined && young.length >= wholeSync.from) await wholeSync.sync();
  else {
    using walker = new RootWalker(context.root);
    await syncKept(context, walker, young);
  }
  using staging = context.parent.openDir(stagingName(context));
  return { staging: { ...identityOf(staging) } };
}

// 1. Root to backup; sync, so that no crash can keep step 2 without it. That makes the name of the staging durable too.
// 2. Staging to root; sync.
async function commit(context: StrategyContext, state: JsonValue): Promise<void> {
  const { parent, rootName } = context;
  const staging = decodeState(state);
  const isThere = isSame(identityAt(parent, rootName), context.rootIdentity);
  if (!isThere || !isSame(identityAt(parent, stagingName(context)), staging)) {
    throw new WorkspaceRestoreError('root-replaced', 'the root or its replacement is not what was prepared');
  }
  if (hasStandingProcess(context.rootPath)) {
    throw new WorkspaceRestoreError('swap-failed', 'a process began to stand in the root');
  }
  refuseTaken(parent, backupName(context));
  parent.rename(rootName, parent, backupName(context));
  await parent.syncLater();
  parent.rename(stagingName(context), parent, rootName);
  await parent.syncLater();
}

// Decides by who has which name.
// 1. The new tree has the root's name: give it its staging name back; sync.
// 2. Nothing has the root's name: give it to the old tree; sync.
async function undo(context: StrategyContext, state: JsonValue): Promise<void> {
  const { parent, rootName, rootIdentity } = context;
  const staging = decodeState(state);
  let current = identityAt(parent, rootName);
  if (isSame(current, staging)) {
    refuseUnlessBackup(context);
    refuseTaken(parent, stagingName(context));
    parent.rename(rootName, parent, stagingName(context));
    await parent.syncLater();
    current = undefined;
  }
  if (current === undefined) {
    refuseUnlessBackup(context);
    refuseTaken(parent, rootName);
    parent.rename(backupName(context), parent, rootName);
  } else if (!isSame(current, rootIdentity)) {
    throw new WorkspaceRestoreError('root-replaced', 'something else has the name of the root');
  }
  await parent.syncLater();
}

function refuseUnlessBackup(context: StrategyContext): void {
  if (isSame(identityAt(context.parent, backupName(context)), context.rootIdentity)) return;
  throw new WorkspaceRestoreError('root-replaced', 'the old tree is not where it was put');
}

function refuseTaken(parent: Dir, name: Uint8Array): void {
  if (parent.lstat(name) === undefined) return;
  throw new WorkspaceRestoreError(
    'concurrent-change',
    `something took the name ${Buffer.from(name).toString('utf8')}`,
  );
}

/** Removes the tree that lost; the old one only when a scan finds nothing in it that the plan did not start from. */
async function discard(context: DiscardContext): Promise<void> {
  const { parent, outcome, state, restoreId, rootIdentity } = context;
  if (parent.lstat(context.rootName)?.kind !== 'directory') return;
  // A process that was killed may have removed what a power loss would bring back; nobody looks for it after this.
  await parent.syncLater();
  await sweepTemporaries(parent, { isLive: (operation) => operation !== restoreId, clock: context.clock });
  if (outcome === 'undone') {
    const staged = state === undefined ? undefined : decodeState(state);
    const names = [stagingName(context), ...(staged === undefined ? [] : [namelessStagingName(context)])];
    for (const name of names) {
      const found = identityAt(parent, name);
      if (found === undefined || (staged !== undefined && !isSame(found, staged))) continue;
      await removeTree(parent, name, { operation: restoreId });
    }
    return;
  }
  if (!isSame(identityAt(parent, backupName(context)), rootIdentity)) return;
  const path = backupPath(context);
  const live = await context.scan?.(path);
  if (live === undefined || live.treeKey !== context.base || live.omitted.length > 0) {
    context.note({
      kind: 'backup-kept',
      detail: `the old tree changed after it was captured; it is kept at ${path}`,
    });
    return;
  }
  await removeTree(parent, backupName(context), { operation: restoreId });
}

function backupPath(context: StrategyContext): string {
  const parent = context.rootPath.slice(0, context.rootPath.lastIndexOf('/'));
  return `${parent}/${Buffer.from(backupName(context)).toString('utf8')}`;
}

function identityAt(parent: Dir, name: Uint8Array): RootIdentity | undefined {
  if (parent.lstat(name) === undefined) return undefined;
  try {
    using dir = parent.openDir(name);
    return identityOf(dir);
  } catch (error) {
    if (FileSystemError.is(error) && ['ENOTDIR', 'ELOOP'].includes(error.errno))
      return { inode: '', birthtimeNs: '' };
    if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
    throw error;
  }
}

function isSame(a: RootIdentity | undefined, b: RootIdentity): boolean {
  return a !== undefined && isSameIdentity(a, b);
}

function decodeState(state: JsonValue): RootIdentity {
  const staging = members(members(state)['staging']);
  if (staging['inode'] === undefined) throw damaged('the staging identity is missing');
  return {
    inode: matching(staging['inode'], /^\d{1,20}$/, 'staging inode'),
    birthtimeNs: matching(staging['birthtimeNs'], /^-?\d{1,20}$/, 'staging birth time'),
  };
}
