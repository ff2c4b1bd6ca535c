import type { Dir, Stat } from '@holdfast/durable';

import { isErrno } from './reconcile-names.js';

const ownerMayRead = 0o400;

/**
 * Sets the mode of a file by its name, durably, also where the old mode or the new one keeps this user from opening it: to
 * be synced it has to be open, so that its owner may read it for a moment. A mode that is right already is synced too:
 * whoever set it may have died before that. `false` when the name came to another inode meanwhile.
 */
export function setModeDurably(dir: Dir, name: Uint8Array, mode: number, standing: Stat): boolean {
  const isSet = (standing.mode & 0o7777) === mode;
  const mayRead = (mode & ownerMayRead) !== 0;
  let isOpenedUp = false;
  try {
    if (!isSet || !mayRead) {
      dir.chmodAt(name, mode | ownerMayRead);
      isOpenedUp = true;
    }
    using file = dir.openFile(name);
    if (file.stat().ino !== standing.ino) return false;
    if (!mayRead) file.chmod(mode);
    file.sync();
  } catch (error) {
    // Of a file of somebody else that has the mode, nobody here set it. Of one whose mode this user may change, and not
    // read it whoever is let in, nobody here can sync it.
    if (!isErrno(error, 'EACCES') && !(isSet && isErrno(error, 'EPERM'))) throw error;
    if (isOpenedUp) dir.chmodAt(name, mode);
  }
  return true;
}
