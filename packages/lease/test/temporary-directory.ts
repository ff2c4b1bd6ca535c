import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A place for the files of one test file; `make` gives fresh directories in it. */
export function temporaryDirectory(): { readonly make: () => string; readonly remove: () => void } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-lease-')));
  return {
    make: () => mkdtempSync(join(root, 'd-')),
    remove: () => {
      rmSync(root, { recursive: true, force: true });
    },
  };
}
