import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { timed } from '../timed.mjs';
import { Stores } from './stores.mjs';

const program = fileURLToPath(new URL('naive-tar-program.mjs', import.meta.url));

/**
 * The naive design: the whole tree into one compressed tar file, every time.
 * @type {import('./peer.mjs').Peer}
 */
export const naiveTar = {
  name: 'tar+gzip',
  about: 'everything into one tar.gz through tar-stream, every time',
  slow: true,
  missing: () => undefined,
  open: (place) => {
    const stores = new Stores(place.base);
    let snapshots = 0;
    const options = { cwd: place.base, scratch: place.base };
    const archive = () => path.join(stores.current, `${snapshots}.tar.gz`);
    const snapshot = () => {
      snapshots += 1;
      return timed([process.execPath, program, 'pack', place.work, archive()], options);
    };
    return {
      first: () => {
        mkdirSync(stores.next());
        return snapshot();
      },
      snapshot,
      restore: (destination) =>
        timed([process.execPath, program, 'extract', archive(), destination], options),
      rewind: () => {
        const script = `find ${place.work} -mindepth 1 -delete; exec ${process.execPath} ${program} extract ${archive()} ${place.work}`;
        return timed(['sh', '-ec', script], options);
      },
      store: () => stores.current,
      close: () => undefined,
    };
  },
};
