import { resolve } from 'node:path';

import { type Clock, type Random, systemClock, systemRandom } from '@holdfast/base';
import { ensureDirectory, type FileSystem, nodeFileSystem } from '@holdfast/durable';

import { LeaserBackendError } from '../errors.js';
import { Leaser } from '../leaser.js';
import { hintOnChange } from './directory-hint.js';
import { maxTtl } from './epoch-file.js';
import { FsLeaserDriver } from './fs-leaser-driver.js';
import { type ProcessTable, systemProcessTable } from './process-identity.js';

/** Milliseconds without a renewal after which a holder whose life cannot be judged may be overtaken. */
export const defaultTtl = 30_000;

const minTtl = 100;
const defaultPollInterval = 100;

export interface FsLeaserOptions {
  /**
   * `host` (default): excludes the processes of one host; holders renew, so that containers which cannot see each
   * other's processes can share the directory too. `process`: excludes leasers of one process; nothing is renewed, and a
   * holder whose life cannot be judged is never overtaken.
   */
  readonly scope?: 'process' | 'host' | undefined;
  /** Time-to-live in milliseconds, 100 to 86,400,000; renewed every third of it. Default 30,000. */
  readonly ttl?: number | undefined;
  /** How often a waiter looks, in milliseconds, 1 to 60,000. Default 100. */
  readonly pollInterval?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Default: the disk. */
  readonly fileSystem?: FileSystem | undefined;
  /** Default: the processes of this host. */
  readonly processes?: ProcessTable | undefined;
}

/**
 * Opens a leaser over a directory, which is made when it is missing. Needs hard links and a file system whose changes
 * every process sees at once: a local disk.
 *
 * A holder that was killed is overtaken at once; one that is stopped is not, as long as its process can be judged. The
 * unit of life is the process: what a worker thread holds when it is terminated stays held until the process ends.
 *
 * @throws LeaserBackendError when the directory cannot be made or opened.
 */
export async function openFsLeaser(directory: string, options: FsLeaserOptions = {}): Promise<Leaser> {
  const ttl = inRange('ttl', options.ttl ?? defaultTtl, minTtl, maxTtl);
  const pollInterval = inRange('pollInterval', options.pollInterval ?? defaultPollInterval, 1, 60_000);
  const scope: unknown = options.scope ?? 'host';
  if (scope !== 'host' && scope !== 'process') {
    throw new RangeError(`openFsLeaser: scope must be "host" or "process", found ${JSON.stringify(scope)}`);
  }
  const fileSystem = options.fileSystem ?? nodeFileSystem();
  const path = await canonicalDirectory(fileSystem, resolve(directory));
  return new Leaser(
    new FsLeaserDriver({
      fileSystem,
      directory: path,
      scope,
      ttl,
      pollInterval,
      clock: options.clock ?? systemClock,
      random: options.random ?? systemRandom,
      processes: options.processes ?? systemProcessTable(),
      hint: options.fileSystem === undefined ? hintOnChange : noHint,
    }),
  );
}

async function canonicalDirectory(fileSystem: FileSystem, path: string): Promise<string> {
  try {
    using _made = await ensureDirectory(fileSystem, path, { mode: 0o700 });
    return Buffer.from(fileSystem.canonicalPath(path)).toString('utf8');
  } catch (error) {
    throw new LeaserBackendError('open', undefined, { cause: error });
  }
}

function noHint(): Disposable {
  return { [Symbol.dispose]: () => undefined };
}

function inRange(name: string, value: number, least: number, most: number): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new RangeError(`openFsLeaser: ${name} must be ${least} to ${most} milliseconds, found ${value}`);
}
