import { readdirSync, readlinkSync } from 'node:fs';

/**
 * Tells whether a process has its working directory in a directory, as far as this system and user can see: Linux, own
 * processes. An answer of `false` proves nothing; it only avoids the obvious.
 */
export function hasStandingProcess(directory: string): boolean {
  let ids: string[];
  try {
    ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return false;
  }
  return ids.some((id) => {
    try {
      const standing = readlinkSync(`/proc/${id}/cwd`);
      return standing === directory || standing.startsWith(`${directory}/`);
    } catch {
      return false;
    }
  });
}
