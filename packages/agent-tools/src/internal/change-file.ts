import { throwIfAborted } from '@holdfast/base';
import { containsPath } from '@holdfast/coordinator';
import { type Dir, ensureChildDirectory, StagedFile } from '@holdfast/durable';
import type { Observation, ToolCallOptions } from '@holdfast/session';

import { FileTooBigError, StaleFileError, type StaleKind, UnexpectedNodeError } from '../errors.js';
import { sweepLeftovers } from './leftovers.js';
import { type LiveFile, readLiveFile } from './live-file.js';
import { locate, type Place } from './place.js';
import { holderOf, type Workbench } from './workbench.js';

/** Directories may be renamed while a permit is waited for; not more often than this. */
const maxAttempts = 4;
const pieceBytes = 1024 * 1024;

/** A change that is done. */
export interface Changed {
  readonly path: string;
  readonly created: boolean;
  readonly bytes: number;
}

/**
 * Gives the file at `path` new bytes, which `next` makes from what it holds (`undefined`: it does not exist).
 * @throws StaleFileError when the loop does not know the file as it is; whatever `next` throws.
 */
export async function changeFile(
  bench: Workbench,
  path: string,
  call: ToolCallOptions,
  next: (current: LiveFile | undefined, place: Place) => Uint8Array,
): Promise<Changed> {
  const { coordinator, root, scope: rootScope } = bench.workspace;
  throwIfAborted(call.signal);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const scope = (() => {
      using place = locate(bench.fileSystem, root, path);
      return place.scope(rootScope);
    })();
    using _permit = await coordinator.acquire(
      { operation: 'path-mutation', path: scope },
      { holder: holderOf(bench, call), signal: call.signal },
    );
    // What the path meant before the wait may be something else now: the permit has to cover what it means.
    using place = locate(bench.fileSystem, root, path);
    if (containsPath(scope, place.scope(rootScope))) return await changeUnderPermit(bench, place, call, next);
  }
  throw new StaleFileError(path, 'moved');
}

// 1. Compare what the loop knows with what is there, and make the new bytes.
// 2. Ask whether the workspace may still be changed; remove what killed processes left; make missing directories and stage the bytes, durably.
// 3. Ask again, compare again. Point of no return: give the staged file its name, refusing a name that was free before
//    and is taken now.
// 4. Remember what the loop knows now.
async function changeUnderPermit(
  bench: Workbench,
  place: Place,
  call: ToolCallOptions,
  next: (current: LiveFile | undefined, place: Place) => Uint8Array,
): Promise<Changed> {
  const { coordinator, observations } = bench.workspace;
  const current = compare(bench, place);
  const bytes = next(current, place);
  const { fileBytes } = bench.limits;
  if (bytes.length > fileBytes) throw new FileTooBigError(place.path, bytes.length, fileBytes);
  await coordinator.healthy({ signal: call.signal });
  await sweepLeftovers(bench);
  using directories = await makeDirectories(place, call.signal);
  using staged = stage(bench, directories.deepest, bytes);
  await staged.file.syncLater();
  await coordinator.healthy({ signal: call.signal });
  if (current !== undefined) compare(bench, place);
  const { created } = await publish(bench, place, staged, current, call.signal);
  directories.keep();
  if (!created) {
    observations.forget(place.path);
    throw new StaleFileError(place.path, 'appeared');
  }
  observations.sawContent(place.path, staged.sha256());
  return { path: place.path, created: current === undefined, bytes: bytes.length };
}

/** What the file holds; `undefined`: it may be created. @throws StaleFileError */
function compare(bench: Workbench, place: Place): LiveFile | undefined {
  const { observations } = bench.workspace;
  if (place.directory !== undefined) throw new UnexpectedNodeError(place.path, 'file', 'directory');
  const live = readLiveFile(place, bench.limits.fileBytes);
  const stale = staleness(observations.known(place.path), live);
  if (stale !== undefined) {
    observations.forget(place.path);
    throw new StaleFileError(place.path, stale);
  }
  return live === 'too-large' ? undefined : live;
}

function staleness(
  known: Observation | undefined,
  live: LiveFile | 'too-large' | undefined,
): StaleKind | undefined {
  if (live === undefined) return known?.kind === 'content' ? 'removed' : undefined;
  if (known === undefined) return 'unread';
  if (known.kind === 'absent') return 'appeared';
  return live !== 'too-large' && live.sha256 === known.sha256 ? undefined : 'changed';
}

function stage(bench: Workbench, dir: Dir, bytes: Uint8Array): StagedFile {
  const staged = StagedFile.create(dir, { operation: bench.operation, random: bench.random });
  try {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      staged.append(bytes.subarray(start, start + pieceBytes));
    }
    return staged;
  } catch (error) {
    staged.discard();
    throw error;
  }
}

async function publish(
  bench: Workbench,
  place: Place,
  staged: StagedFile,
  current: LiveFile | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly created: boolean }> {
  // Set-id bits go, as they do when the kernel writes for somebody: they vouched for the old bytes.
  const mode = current === undefined ? bench.fileMode : current.mode & 0o1777;
  try {
    return await staged.publish(place.name as Uint8Array, { mode, exclusive: current === undefined, signal });
  } catch (error) {
    if (signal?.aborted !== true) bench.workspace.observations.forget(place.path);
    throw error;
  }
}

/** The directories that a change needs; those made for it go again unless it is done. */
interface Directories extends Disposable {
  readonly deepest: Dir;
  keep(): void;
}

async function makeDirectories(place: Place, signal: AbortSignal | undefined): Promise<Directories> {
  const made: { parent: Dir; name: Uint8Array; dir: Dir }[] = [];
  let kept = false;
  const end = (): void => {
    for (const { parent, name, dir } of made.reverse()) {
      dir.close();
      if (kept) continue;
      try {
        parent.rmdir(name);
      } catch {
        // Somebody else has put something there meanwhile: then it is theirs.
      }
    }
  };
  try {
    let parent = place.parent;
    for (const name of place.missing) {
      const dir = await ensureChildDirectory(parent, name, { mode: 0o755, signal });
      made.push({ parent, name, dir });
      parent = dir;
    }
    return {
      deepest: parent,
      keep: () => {
        kept = true;
      },
      [Symbol.dispose]: end,
    };
  } catch (error) {
    end();
    throw error;
  }
}
