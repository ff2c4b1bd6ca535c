import { lstatSync } from 'node:fs';

import { scratchPath } from '@holdfast/restore';

/** Whether a root has scratch, beside it or in it: without, nothing is to be recovered and none need be made. */
export function hasScratch(root: string): boolean {
  return (['sibling', 'inside'] as const).some(
    (placement) => lstatSync(scratchPath(root, placement), { throwIfNoEntry: false }) !== undefined,
  );
}
