import { mkdirSync } from 'node:fs';

import { isInstalled, must, timed } from '../timed.mjs';
import { Stores } from './stores.mjs';

/**
 * A shadow repository, as coding agents keep one beside the user's own: it sees everything, hooks and configuration of the
 * machine do not matter.
 * @param {string} name
 * @param {string} about
 * @param {{ settings: readonly [string, string][], commit: string }} how
 * @returns {import('./peer.mjs').Peer}
 */
function shadowRepository(name, about, how) {
  return {
    name,
    about,
    missing: () => (isInstalled('git') ? undefined : 'git'),
    open: (place) => {
      const stores = new Stores(place.base);
      const env = {
        ...process.env,
        HOME: place.base,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'bench',
        GIT_AUTHOR_EMAIL: 'bench@localhost',
        GIT_COMMITTER_NAME: 'bench',
        GIT_COMMITTER_EMAIL: 'bench@localhost',
      };
      const outside = { cwd: place.base, env };
      /** @param {string} script */
      const shell = (script) =>
        timed(['sh', '-ec', script], {
          cwd: place.work,
          env: { ...env, GIT_DIR: stores.current, GIT_WORK_TREE: place.work },
          scratch: place.base,
        });
      return {
        first: () => {
          const directory = stores.next();
          must(['git', 'init', '-q', '--bare', directory], outside);
          const settings = [
            ['core.bare', 'false'],
            ['gc.auto', '0'],
            ['core.excludesFile', '/dev/null'],
            ...how.settings,
          ];
          for (const [key = '', value = ''] of settings) {
            must(['git', `--git-dir=${directory}`, 'config', key, value], outside);
          }
          return shell(how.commit);
        },
        snapshot: () => shell(how.commit),
        restore: (destination) => {
          mkdirSync(destination);
          const index = `${place.base}/restore-index`;
          return shell(
            `export GIT_INDEX_FILE=${index}; rm -f ${index}; git read-tree HEAD; git checkout-index -a --prefix=${destination}/`,
          );
        },
        plan: () => shell('git status --porcelain'),
        rewind: () => shell('git reset -q --hard HEAD; git clean -fdq'),
        store: () => stores.current,
        close: () => undefined,
      };
    },
  };
}

export const git = shadowRepository('git', 'shadow repository: add -A, commit, as it comes', {
  settings: [],
  commit: 'git add -A .; git commit -q --no-verify --allow-empty -m checkpoint',
});

export const gitTuned = shadowRepository(
  'git-tuned',
  'shadow repository with untracked cache, index v4, plumbing',
  {
    settings: [
      ['core.untrackedCache', 'true'],
      ['feature.manyFiles', 'true'],
      ['index.version', '4'],
      ['index.threads', 'true'],
      ['core.preloadIndex', 'true'],
    ],
    commit:
      'git add -A .; tree=$(git write-tree); commit=$(git commit-tree $tree -m checkpoint); git update-ref HEAD $commit',
  },
);
