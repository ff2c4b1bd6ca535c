/** The name of the streams when none is given. */
export const defaultPrefix = 'holdfast';

/** @throws TypeError when it cannot be part of subjects and stream names. */
export function parsePrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && /^[A-Za-z0-9_-]{1,48}$/.test(prefix)) return prefix;
  throw new TypeError('a prefix is 1 to 48 of A-Z a-z 0-9 _ -');
}

/** A name as one token of a subject: `.` would divide it, and `=` is in no name. */
export function tokenOf(name: string): string {
  return name.replaceAll('.', '=');
}

export function nameOf(token: string): string {
  return token.replaceAll('=', '.');
}
