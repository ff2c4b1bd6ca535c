import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';

import { runCommand } from '@holdfast/cli';

import { openLocal } from './open-local.js';
import { processIo } from './process-io.js';

/** Runs the command `holdfast` with the given words on the real process and returns its exit status. */
export async function main(words: readonly string[]): Promise<number> {
  const io = processIo();
  try {
    const runtime = io.env['XDG_RUNTIME_DIR'];
    const runtimeDirectory =
      runtime !== undefined && isAbsolute(runtime) ? join(runtime, 'holdfast') : undefined;
    return await runCommand(words, {
      io,
      openLocal: (home, options) => openLocal(home, { ...options, runtimeDirectory }),
      version: packageVersion(),
    });
  } finally {
    io[Symbol.dispose]();
  }
}

function packageVersion(): string {
  const manifest = createRequire(import.meta.url)('../package.json') as { readonly version: string };
  return manifest.version;
}
