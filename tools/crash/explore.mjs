import { Dir } from '@holdfast/durable';
import { exploreCrashes } from '@holdfast/durable/testing';

/** @typedef {import('./subject.mjs').Subject} Subject */
/** @typedef {import('./subject.mjs').Fact} Fact */
/** @typedef {import('@holdfast/durable').FileSystem} FileSystem */
/** @typedef {import('@holdfast/durable/testing').CrashReport} CrashReport */

export const directory = '/work';

/**
 * Explores the crashes of a subject on the strict model.
 * @param {Subject} subject
 * @param {import('@holdfast/durable/testing').ExploreCrashesOptions & {
 *   readonly seed: number,
 *   readonly wrap?: (fileSystem: FileSystem) => FileSystem,
 * }} options `wrap` puts something between the protocol and the disk: a mistake.
 * @returns {Promise<CrashReport>}
 */
export async function exploreSubject(
  subject,
  { seed, crashes = 1, wrap = (fileSystem) => fileSystem, ...limits },
) {
  /** @param {FileSystem} fileSystem */
  const at = (fileSystem) => ({ fileSystem, directory, seed });
  return await exploreCrashes(
    /** @type {import('@holdfast/durable/testing').CrashScenario<Fact>} */ ({
      setup: async (disk) => {
        const root = Dir.openRoot(disk, '/');
        root.mkdir(directory.slice(1));
        root.close();
        await subject.setup?.(at(disk));
      },
      run: async (disk, context) => await subject.run(at(wrap(disk)), context),
      recover: async (disk, context) => await subject.recover?.(at(wrap(disk)), context),
      check: async (disk, facts) => await subject.check(at(disk), facts),
    }),
    {
      seed,
      crashes,
      ...(crashes === 1 ? {} : { exhaustiveUpTo: 3, samples: 6, wholeMoments: true }),
      ...limits,
    },
  );
}
