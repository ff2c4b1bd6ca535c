import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { isInstalled, must, timed } from '../timed.mjs';

const source = fileURLToPath(new URL('stat-walk.c', import.meta.url));

/**
 * The floor for "nothing changed": a C program that looks at every entry once.
 * @type {import('./peer.mjs').Peer}
 */
export const statWalk = {
  name: 'C walk',
  about: 'a C program that looks at every entry once: the floor for finding nothing changed',
  missing: () => (isInstalled('cc') ? undefined : 'a C compiler'),
  open: (place) => {
    const program = path.join(place.base, 'stat-walk');
    must(['cc', '-O2', '-o', program, source], { cwd: place.base });
    return {
      snapshot: () => timed([program, place.work], { cwd: place.base, scratch: place.base }),
      close: () => undefined,
    };
  },
};
