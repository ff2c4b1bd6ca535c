import { equalBytes } from '@holdfast/base';
import type { Dir, Stat } from '@holdfast/durable';

import { VerificationError } from '../errors.js';
import type { NodeState, Operation } from '../operation.js';
import { contentKeyOf } from './content-key.js';
import { pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { isErrno } from './reconcile-names.js';
import { RootWalker } from './root-walker.js';

export interface VerifyOptions {
  /** `false` where the file system does not keep modes. */
  readonly modes: boolean;
  pause(): Promise<void>;
}

/**
 * Reads back what the operations touched and compares it with what they should have left.
 * @throws VerificationError naming the paths that differ.
 */
export async function verifyTouched(
  root: Dir,
  operations: readonly Operation[],
  options: VerifyOptions,
): Promise<void> {
  const expected = new Map<string, Operation>();
  // A later operation on a path says what stands there in the end.
  for (const operation of operations) expected.set(pathKey(operation.path), operation);
  const wrong: string[] = [];
  using walker = new RootWalker(root);
  for (const [key, operation] of expected) {
    await options.pause();
    if (!(await isAsLeft(root, walker, key, operation, options))) wrong.push(shownPath(operation.path));
  }
  if (wrong.length > 0) throw new VerificationError(wrong);
}

async function isAsLeft(
  root: Dir,
  walker: RootWalker,
  key: string,
  operation: Operation,
  options: VerifyOptions,
): Promise<boolean> {
  try {
    const { after } = operation;
    const stat = key === '' ? root.stat() : walker.look(key);
    if (after === undefined) return stat === undefined;
    return await isAsExpected(walker, key, stat, after, operation, options);
  } catch (error) {
    // Behind a mode that keeps even its owner out, as the target wants it: what is there was hashed while it was written.
    if (isErrno(error, 'EACCES')) return true;
    throw error;
  }
}

async function isAsExpected(
  walker: RootWalker,
  key: string,
  stat: Stat | undefined,
  after: NodeState,
  operation: Operation,
  options: VerifyOptions,
): Promise<boolean> {
  if (stat === undefined || stat.kind !== after.kind) return false;
  if (after.kind === 'symlink') {
    const { dir, name } = walker.locate(key);
    return equalBytes(dir.readlink(name), after.target ?? new Uint8Array());
  }
  if (options.modes && (stat.mode & 0o777) !== (after.mode & 0o777)) return false;
  if (after.kind !== 'file' || operation.action === 'chmod') return true;
  if (stat.size !== after.size) return false;
  const { dir, name } = walker.locate(key);
  using file = dir.openFile(name);
  return (
    file.stat().kind === 'file' && (await contentKeyOf(file, () => options.pause())).key === after.content
  );
}
