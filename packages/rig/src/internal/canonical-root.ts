import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** A path with its symlinks resolved on the part that exists, and what stands at its end. */
export interface CanonicalRoot {
  readonly path: string;
  readonly found: 'directory' | 'other' | 'missing';
}

/**
 * Makes a path absolute, clean and free of symlinks on its longest existing prefix. A dangling symlink is a failure and
 * not the end of that prefix, so two names of one directory never become two paths.
 */
export function canonicalRoot(path: string): CanonicalRoot {
  const absolute = resolve(path);
  const missing: string[] = [];
  for (let existing = absolute; ; existing = dirname(existing)) {
    const real = realPathOf(existing);
    if (real !== undefined) {
      const whole = join(real, ...missing);
      if (missing.length > 0) return { path: whole, found: 'missing' };
      return { path: whole, found: lstatSync(real).isDirectory() ? 'directory' : 'other' };
    }
    missing.unshift(basename(existing));
  }
}

/** `undefined` when nothing has this name. A name that has something is resolved or fails. */
function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw error;
    return undefined;
  }
}

/** Tells whether `inner` is `outer` or lies below it. Both canonical. */
export function isWithin(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}
