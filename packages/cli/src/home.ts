import { posix, win32 } from 'node:path';

import type { CommandIo } from './io.js';

/**
 * Chooses the home: `--home`, else `HOLDFAST_HOME`, else the platform's user data directory. An empty value counts as
 * not given. The result is absolute.
 */
export function chooseHome(
  option: string | undefined,
  io: Pick<CommandIo, 'env' | 'cwd' | 'platform' | 'userHome'>,
): string {
  const path = io.platform === 'win32' ? win32 : posix;
  const given = option !== undefined && option !== '' ? option : io.env['HOLDFAST_HOME'];
  if (given !== undefined && given !== '') return path.resolve(io.cwd, given);
  if (io.platform === 'win32') {
    return path.join(io.env['LOCALAPPDATA'] ?? path.join(io.userHome, 'AppData', 'Local'), 'holdfast');
  }
  if (io.platform === 'darwin') return path.join(io.userHome, 'Library', 'Application Support', 'holdfast');
  const xdg = io.env['XDG_DATA_HOME'];
  // The base-directory specification says that a relative value is to be ignored.
  return path.join(
    xdg !== undefined && path.isAbsolute(xdg) ? xdg : path.join(io.userHome, '.local', 'share'),
    'holdfast',
  );
}
