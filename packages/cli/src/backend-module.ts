import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { quote } from '@holdfast/base';

import { BackendModuleError } from './errors.js';

/** The contracts that a module can offer a harness for, by the name of its export. */
export const backendKinds = ['blobs', 'ledger', 'leaser'] as const;

export type BackendKind = (typeof backendKinds)[number];

/** A harness, or a function that makes one (for instance after connecting). */
export type OfferedHarness = object | (() => object | Promise<object>);

/**
 * Loads the module that somebody wants verified: a path, or the name of a package that is installed where the command
 * runs. It exports `blobs`, `ledger` or `leaser`, each the harness of that contract or a function that makes it.
 * @throws BackendModuleError when it cannot be loaded or offers nothing.
 */
export async function loadBackendModule(
  name: string,
  cwd: string,
): Promise<readonly (readonly [BackendKind, OfferedHarness])[]> {
  const loaded = await importFrom(name, cwd);
  const offered: (readonly [BackendKind, OfferedHarness])[] = [];
  for (const kind of backendKinds) {
    const value = loaded[kind];
    if (value === undefined) continue;
    if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) {
      throw new BackendModuleError(name, 'bad-export', `its export ${kind} is no harness`);
    }
    offered.push([kind, value as OfferedHarness]);
  }
  if (offered.length === 0) {
    throw new BackendModuleError(
      name,
      'nothing-offered',
      `it exports none of ${backendKinds.join(', ')}; see docs/adapters/writing-a-backend.md`,
    );
  }
  return offered;
}

async function importFrom(name: string, cwd: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const isPath = name.startsWith('.') || isAbsolute(name);
    const file = isPath
      ? isAbsolute(name)
        ? name
        : join(cwd, name)
      : createRequire(join(cwd, 'package.json')).resolve(name);
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new BackendModuleError(name, 'not-loadable', `it cannot be loaded: ${quote(reason ?? '')}`, {
      cause: error,
    });
  }
}
