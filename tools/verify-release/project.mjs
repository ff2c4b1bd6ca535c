import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { run } from '../shared/process.mjs';

/** @typedef {import('../shared/pack.mjs').PackedPackage} PackedPackage */

/**
 * Makes an empty project and installs packed packages into it, as a user would from a registry: the named ones as
 * dependencies, and whatever of ours they depend on from the packed files beside them.
 * @param {string} directory
 * @param {readonly PackedPackage[]} wanted
 * @param {readonly PackedPackage[]} all
 * @param {Record<string, string>} [others] Further dependencies.
 * @returns {Promise<string | undefined>} What went wrong.
 */
export async function installProject(directory, wanted, all, others = {}) {
  mkdirSync(directory, { recursive: true });
  const names = new Set(wanted.map((item) => item.name));
  /** @param {readonly PackedPackage[]} items */
  const files = (items) => Object.fromEntries(items.map((item) => [item.name, `file:${item.tarball}`]));
  const manifest = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: { ...files(wanted), ...others },
    overrides: files(all.filter((item) => !names.has(item.name))),
  };
  writeFileSync(path.join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--prefer-offline'];
  const result = await run('npm', args, { cwd: directory, timeoutMs: 120_000 });
  return result.code === 0 ? undefined : result.output.trim();
}

/**
 * A program that imports every entry point and wants each to export something.
 * @param {readonly string[]} specifiers
 */
export function importProgram(specifiers) {
  return `for (const specifier of ${JSON.stringify(specifiers)}) {
  const exports = await import(specifier);
  if (Object.keys(exports).length === 0) throw new Error(specifier + ' exports nothing');
}
`;
}

/**
 * A program that prints how many milliseconds the import of an entry point takes in a fresh process.
 * @param {string} specifier
 */
export function importTimeProgram(specifier) {
  return `const start = performance.now();
await import(${JSON.stringify(specifier)});
console.log(performance.now() - start);
`;
}

/**
 * The sources and settings of a TypeScript consumer that touches every entry point.
 * @param {readonly string[]} specifiers
 * @param {'nodenext' | 'bundler'} resolution
 * @returns {{ source: string, config: string }}
 */
export function typeProject(specifiers, resolution) {
  const source = specifiers
    .map((specifier, index) => `import * as entry${index} from '${specifier}';`)
    .join('\n');
  const uses = specifiers.map((_, index) => `entry${index}`).join(', ');
  const config = {
    compilerOptions: {
      strict: true,
      noEmit: true,
      // Our declarations must be right for a consumer who checks them.
      skipLibCheck: false,
      target: 'es2022',
      lib: ['es2022'],
      types: ['node'],
      module: resolution === 'nodenext' ? 'nodenext' : 'esnext',
      moduleResolution: resolution,
    },
    files: ['consumer.ts'],
  };
  return {
    source: `${source}\nexport const all: unknown[] = [${uses}];\n`,
    config: `${JSON.stringify(config, null, 2)}\n`,
  };
}
