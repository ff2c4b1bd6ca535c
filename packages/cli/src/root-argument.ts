import { type BigIntStats, constants } from 'node:fs';
import { access, lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

import { RootArgumentError } from './errors.js';

/**
 * Checks the ROOT argument and returns its canonical path: parents are resolved, a symlink as last component is refused,
 * and so is a root that contains the home or lies in it.
 * @throws RootArgumentError naming what is wrong; nothing was touched.
 */
export async function resolveRoot(argument: string, cwd: string, home: string): Promise<string> {
  const absolute = resolve(cwd, argument);
  const root = await canonical(absolute);
  let stat: BigIntStats;
  try {
    stat = await lstat(root, { bigint: true });
  } catch (error) {
    throw new RootArgumentError(absolute, isMissing(error) ? 'missing' : 'unreadable', { cause: error });
  }
  if (stat.isSymbolicLink()) throw new RootArgumentError(absolute, 'symlink');
  if (!stat.isDirectory()) throw new RootArgumentError(absolute, 'not-directory');
  try {
    await access(root, constants.R_OK | constants.X_OK);
  } catch (error) {
    throw new RootArgumentError(absolute, 'unreadable', { cause: error });
  }
  await refuseHome(absolute, home);
  return root;
}

/**
 * Returns the canonical path that a directory has or had, to look for it in a home; it need not exist.
 * @throws RootArgumentError when a directory on the way cannot be entered.
 */
export async function locateRoot(argument: string, cwd: string): Promise<string> {
  const absolute = resolve(cwd, argument);
  try {
    return await realpath(absolute);
  } catch (error) {
    if (!isMissing(error)) throw new RootArgumentError(absolute, 'unreadable', { cause: error });
    return await canonical(absolute);
  }
}

/**
 * Refuses a directory that contains the home or lies in it. It need not exist.
 * @throws RootArgumentError
 */
export async function refuseHome(absolute: string, home: string): Promise<void> {
  const place = await canonical(absolute);
  const kept = await canonical(home);
  if (isInside(kept, place)) throw new RootArgumentError(absolute, 'contains-home');
  if (isInside(place, kept)) throw new RootArgumentError(absolute, 'inside-home');
}

/** Resolves the parents that exist; the last component stays as it is, so that a link there is seen and refused. */
async function canonical(absolute: string): Promise<string> {
  const parent = dirname(absolute);
  if (parent === absolute) return absolute;
  try {
    return join(await realpath(parent), basename(absolute));
  } catch (error) {
    if (!isMissing(error)) throw new RootArgumentError(absolute, 'unreadable', { cause: error });
    return join(await canonical(parent), basename(absolute));
  }
}

function isInside(path: string, directory: string): boolean {
  const step = relative(directory, path);
  return step === '' || (step !== '..' && !step.startsWith(`..${sep}`) && resolve(directory, step) === path);
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 'ENOENT';
}
