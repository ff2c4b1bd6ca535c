import { diskSync, type FileSystem, type WholeSync } from '@holdfast/durable';

import type { RootPlace } from '../scratch.js';
import type { ScratchPlacement } from '../strategy.js';

/** The whole sync that was asked for; else the disk's, unless another file system than the disk is used. */
export function chooseWholeSync(
  options: {
    readonly wholeSync?: WholeSync | false | undefined;
    readonly fileSystem?: FileSystem | undefined;
  },
  place: RootPlace,
  placement: ScratchPlacement,
): WholeSync | undefined {
  if (options.wholeSync !== undefined) return options.wholeSync === false ? undefined : options.wholeSync;
  if (options.fileSystem !== undefined) return undefined;
  // What works in the root cannot move its parent; a root with scratch inside may be a mount point.
  return diskSync((placement === 'inside' ? place.root : undefined) ?? place.parent);
}
