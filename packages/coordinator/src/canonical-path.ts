import { InvalidScopeError, type ScopeRule } from './errors.js';

declare const canonicalPath: unique symbol;

/**
 * An absolute, clean path whose symlinks the caller has resolved: components joined by `/`, starting with `/`, no empty,
 * `.` or `..` component, no NUL, no `/` at the end (except the root `/` itself). Two spellings of one directory must
 * have been mapped to one canonical path before they get here; the coordinator looks at no disk.
 */
export type CanonicalPath = string & { readonly [canonicalPath]: true };

/**
 * Checks that `value` has the form of a canonical path and returns it.
 * @throws InvalidScopeError naming the broken rule.
 */
export function parseCanonicalPath(value: unknown): CanonicalPath {
  const rule = brokenPathRule(value);
  if (rule !== undefined) throw new InvalidScopeError(value, rule);
  return value as CanonicalPath;
}

/** Returns `value` as a canonical path, or `undefined` when it does not have that form. */
export function tryParseCanonicalPath(value: unknown): CanonicalPath | undefined {
  return brokenPathRule(value) === undefined ? (value as CanonicalPath) : undefined;
}

/** Tells whether `outer` is `inner` or a directory above it, component by component: `/a/b` does not contain `/a/bc`. */
export function containsPath(outer: CanonicalPath, inner: CanonicalPath): boolean {
  return outer === inner || outer === '/' || inner.startsWith(`${outer}/`);
}

/** The components of a canonical path, outermost first; none for the root `/`. */
export function pathComponents(path: CanonicalPath): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

function brokenPathRule(value: unknown): ScopeRule | undefined {
  if (typeof value !== 'string') return 'type';
  if (value === '') return 'empty';
  if (!value.startsWith('/')) return 'relative';
  if (value.includes('\0')) return 'nul';
  if (value === '/') return undefined;
  const clean = value
    .slice(1)
    .split('/')
    .every((component) => component !== '' && component !== '.' && component !== '..');
  return clean ? undefined : 'unclean';
}
