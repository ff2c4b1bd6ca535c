import { createRequire } from 'node:module';

import { runCommand } from '@holdfast/cli';

import { openLocal } from './open-local.js';
import { processIo } from './process-io.js';

/** Runs the command `holdfast` with the given words on the real process and returns its exit status. */
export async function main(words: readonly string[]): Promise<number> {
  const io = processIo();
  try {
    return await runCommand(words, { io, openLocal, version: packageVersion() });
  } finally {
    io[Symbol.dispose]();
  }
}

function packageVersion(): string {
  const manifest = createRequire(import.meta.url)('../package.json') as { readonly version: string };
  return manifest.version;
}
