import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { isInstalled, must, timed } from '../timed.mjs';
import { Stores } from './stores.mjs';

/** @typedef {import('./peer.mjs').Peer} Peer */

/** @type {Peer} */
export const restic = {
  name: 'restic',
  about: 'restic backup, restore',
  leavesAdded: true,
  missing: () => (isInstalled('restic') ? undefined : 'restic'),
  open: (place) => {
    const stores = new Stores(place.base);
    const env = () => ({
      ...process.env,
      HOME: place.base,
      RESTIC_REPOSITORY: path.join(stores.current, 'repository'),
      RESTIC_PASSWORD: 'bench',
      RESTIC_CACHE_DIR: path.join(stores.current, 'cache'),
    });
    const options = () => ({ cwd: place.work, env: env(), scratch: place.base });
    const backup = () => timed(['restic', 'backup', '-q', '.'], options());
    return {
      first: () => {
        mkdirSync(stores.next());
        must(['restic', 'init', '-q'], options());
        return backup();
      },
      snapshot: backup,
      restore: (destination) =>
        timed(['restic', 'restore', '-q', 'latest', '--target', destination], options()),
      // Old versions complain about each link that stands there already, and go on.
      rewind: () =>
        timed(['restic', 'restore', '-q', 'latest', '--target', place.work], { ...options(), accepts: [1] }),
      store: () => path.join(stores.current, 'repository'),
      close: () => undefined,
    };
  },
};

/** @type {Peer} */
export const borg = {
  name: 'borg',
  about: 'borg create (lz4, no encryption), extract',
  leavesAdded: true,
  missing: () => (isInstalled('borg') ? undefined : 'borg'),
  open: (place) => {
    const stores = new Stores(place.base);
    let snapshots = 0;
    const env = () => ({
      ...process.env,
      HOME: place.base,
      BORG_REPO: path.join(stores.current, 'repository'),
      BORG_BASE_DIR: path.join(stores.current, 'base'),
      BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK: 'yes',
      BORG_RELOCATED_REPO_ACCESS_IS_OK: 'yes',
    });
    /** @param {string} [cwd] */
    const options = (cwd = place.work) => ({ cwd, env: env(), scratch: place.base });
    const create = () => {
      snapshots += 1;
      return timed(['borg', 'create', '--compression', 'lz4', `::${snapshots}`, '.'], options());
    };
    return {
      first: () => {
        mkdirSync(stores.next());
        must(['borg', 'init', '-e', 'none'], options());
        return create();
      },
      snapshot: create,
      restore: (destination) => {
        mkdirSync(destination);
        return timed(['borg', 'extract', `::${snapshots}`], options(destination));
      },
      rewind: () => timed(['borg', 'extract', `::${snapshots}`], options()),
      store: () => path.join(stores.current, 'repository'),
      close: () => undefined,
    };
  },
};

/** @type {Peer} */
export const rsync = {
  name: 'rsync',
  about: 'rsync -a with hard links to the copy before: no compression, no verification, a floor',
  missing: () => (isInstalled('rsync') ? undefined : 'rsync'),
  open: (place) => {
    const stores = new Stores(place.base);
    let snapshots = 0;
    const options = { cwd: place.base, scratch: place.base };
    const copy = () => path.join(stores.current, String(snapshots));
    const snapshot = () => {
      const before = copy();
      snapshots += 1;
      return timed(
        ['rsync', '-a', '--delete', `--link-dest=${before}`, `${place.work}/`, `${copy()}/`],
        options,
      );
    };
    return {
      first: () => {
        snapshots = 0;
        mkdirSync(stores.next());
        return timed(['rsync', '-a', `${place.work}/`, `${copy()}/`], options);
      },
      snapshot,
      restore: (destination) => timed(['rsync', '-a', `${copy()}/`, `${destination}/`], options),
      rewind: () => timed(['rsync', '-a', '--delete', `${copy()}/`, `${place.work}/`], options),
      store: () => stores.current,
      close: () => undefined,
    };
  },
};
