#!/usr/bin/env node
/**
 * Treats every ```ts fence of the READMEs, of `docs/` and of documentation comments as a complete program that imports
 * the packages by name, as a reader would. `--types` type-checks them against the built declarations; `--run` runs each
 * in an empty directory that it must leave empty. Ends with a total.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import ts from 'typescript';

import { run } from '../shared/process.mjs';
import { Tally } from '../shared/tally.mjs';
import { listFiles, listPackages, repositoryRoot } from '../shared/workspace.mjs';
import { examplesOfMarkdown, examplesOfSource } from './fences.mjs';

/** @typedef {import('./fences.mjs').Example} Example */

const { values } = parseArgs({
  options: {
    types: { type: 'boolean' },
    run: { type: 'boolean' },
    root: { type: 'string', default: repositoryRoot },
  },
});
const root = path.resolve(values.root);
const packages = listPackages(root);
/** An example that needs longer than this hangs. */
const timeoutMs = 60_000;

/** @returns {Example[]} */
function collectExamples() {
  const documents = [
    ...readdirSync(root).filter((file) => file.endsWith('.md')),
    ...packages.map((item) => `packages/${item.directory}/README.md`),
    ...listFiles(path.join(root, 'docs'), (file) => file.endsWith('.md')).map((file) => `docs/${file}`),
  ].filter((file) => existsSync(path.join(root, file)));
  const sources = packages.flatMap((item) =>
    listFiles(path.join(item.path, 'src'), (file) => file.endsWith('.ts')).map(
      (file) => `packages/${item.directory}/src/${file}`,
    ),
  );
  return [
    ...documents.flatMap((file) => examplesOfMarkdown(file, readFileSync(path.join(root, file), 'utf8'))),
    ...sources.flatMap((file) => examplesOfSource(file, readFileSync(path.join(root, file), 'utf8'))),
  ];
}

/**
 * Makes a project in which every published package is installed, as links to the built packages.
 * @param {string} directory
 */
function makeProject(directory) {
  const modules = path.join(directory, 'node_modules');
  mkdirSync(path.join(modules, '@holdfast'), { recursive: true });
  mkdirSync(path.join(modules, '@types'));
  for (const item of packages) symlinkSync(item.path, path.join(modules, item.manifest.name));
  symlinkSync(
    path.join(repositoryRoot, 'node_modules', '@types', 'node'),
    path.join(modules, '@types', 'node'),
  );
  writeFileSync(path.join(directory, 'package.json'), '{ "type": "module", "private": true }\n');
}

/**
 * @param {string} directory
 * @param {readonly Example[]} examples
 * @returns {Map<string, string>} Messages by source of the examples that do not type-check.
 */
function typeCheck(directory, examples) {
  const program = ts.createProgram(
    examples.map((_, index) => path.join(directory, `example-${index}.ts`)),
    {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
      types: ['node'],
      typeRoots: [path.join(directory, 'node_modules', '@types')],
    },
  );
  /** @type {Map<string, string>} */
  const failures = new Map();
  for (const diagnostic of ts.getPreEmitDiagnostics(program)) {
    const text = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n');
    const index = Number(/example-(\d+)\.ts$/.exec(diagnostic.file?.fileName ?? '')?.[1] ?? Number.NaN);
    const example = examples[index];
    if (example === undefined) {
      failures.set('all examples', `${diagnostic.file?.fileName ?? ''} ${text}`);
      continue;
    }
    const line = diagnostic.file?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
    const before = failures.get(example.source);
    failures.set(example.source, `${before === undefined ? '' : `${before}\n`}line ${line + 1}: ${text}`);
  }
  return failures;
}

/**
 * @param {string} directory
 * @param {Example} example
 * @param {number} index
 * @returns {Promise<string | undefined>} What went wrong.
 */
async function runExample(directory, example, index) {
  const script = path.join(directory, `example-${index}.mjs`);
  const { outputText } = ts.transpileModule(example.code, {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      verbatimModuleSyntax: true,
    },
  });
  writeFileSync(script, outputText);
  const cwd = path.join(directory, `run-${index}`);
  mkdirSync(cwd);
  const result = await run(process.execPath, [script], { cwd, timeoutMs });
  if (result.timedOut) return `did not end within ${timeoutMs / 1000} s\n${result.output}`;
  if (result.code !== 0) return `ended with ${result.signal ?? `exit code ${result.code}`}\n${result.output}`;
  const left = readdirSync(cwd);
  return left.length === 0 ? undefined : `left files behind: ${left.join(', ')}`;
}

const examples = collectExamples();
const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-examples-'));
const tally = new Tally();
/** @param {string} what @param {Example} example @param {string | undefined} problem */
const report = (what, example, problem) => {
  tally.count(problem === undefined);
  if (problem !== undefined) console.log(`${example.source}: ${what}\n  ${problem.replaceAll('\n', '\n  ')}`);
};
try {
  makeProject(directory);
  for (const [index, example] of examples.entries()) {
    writeFileSync(path.join(directory, `example-${index}.ts`), example.code);
  }
  if (values.types === true) {
    const failures = typeCheck(directory, examples);
    for (const example of examples) report('does not type-check', example, failures.get(example.source));
    const general = failures.get('all examples');
    if (general !== undefined) {
      tally.count(false);
      console.log(general);
    }
  }
  if (values.run === true) {
    for (const [index, example] of examples.entries()) {
      report('does not run', example, await runExample(directory, example, index));
    }
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
console.log(`examples of the documentation: ${examples.length}`);
console.log(String(tally));
process.exitCode = tally.exitCode;
