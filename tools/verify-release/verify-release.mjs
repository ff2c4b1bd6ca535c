#!/usr/bin/env node
/**
 * Proves that what would be published works by itself: packs every package, installs each packed file alone into an empty
 * project, imports every entry point and runs the examples of its README, the program that needs it alone and its contract suites
 * under Node 20, 22 and 24,
 * measures the time of import, and type-checks a consumer with the oldest and the newest supported TypeScript in both ways of resolution.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import ts from 'typescript';

import { examplesOfMarkdown } from '../check-readme/fences.mjs';
import { packAll, readPacked } from '../shared/pack.mjs';
import { run } from '../shared/process.mjs';
import { Tally } from '../shared/tally.mjs';
import { listPackages, publishedEntries, readJson, repositoryRoot } from '../shared/workspace.mjs';
import { onePackageProblem, onePackagePrograms } from './one-package.mjs';
import { importProgram, importTimeProgram, installProject, typeProject } from './project.mjs';
import { nodeProgram, typescriptCompiler } from './toolchain.mjs';

/** @typedef {import('../shared/pack.mjs').PackedPackage} PackedPackage */
/** @typedef {{ version: string, program: string }} NodeVersion */

const nodeMajors = [20, 22, 24];
const typescriptVersions = ['5.4.5', '6.0.3'];
/** Adapters whose client declares what only a newer TypeScript can read: nothing of ours could change that. */
const clientsForNewTypes = new Map([['@holdfast/nats', 'the declarations of @nats-io need TypeScript 5.7']]);
/** Packages that an adapter or an application imports for their contract alone. */
const contractPackages = [
  'base',
  'durable',
  'blobs',
  'lease',
  'journal',
  'coordinator',
  'workspacestore',
  'restore',
];
const importGoalMs = 30;
const importRuns = 5;

const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-release-'));
const tally = new Tally();
const packages = listPackages();

/** @param {string} what @param {string | undefined} problem */
function report(what, problem) {
  tally.count(problem === undefined);
  if (problem !== undefined) console.log(`FAIL ${what}\n  ${problem.trim().replaceAll('\n', '\n  ')}`);
}

/** @param {string} name */
function specifiersOf(name) {
  const item = packages.find((candidate) => candidate.manifest.name === name);
  return item === undefined ? [] : publishedEntries(item).map((entry) => entry.specifier);
}

/** @param {string} name */
function directoryOf(name) {
  return packages.find((candidate) => candidate.manifest.name === name)?.path ?? '';
}

/** @param {string} name */
function projectOf(name) {
  return path.join(directory, name.replace('@holdfast/', ''));
}

/**
 * Runs a program of a project and says what went wrong.
 * @param {NodeVersion} node
 * @param {string} project
 * @param {string[]} args
 */
async function runIn(node, project, args) {
  const result = await run(node.program, args, { cwd: project, timeoutMs: 90_000 });
  if (result.code === 0) return undefined;
  return `${result.timedOut ? 'did not end' : (result.signal ?? `exit code ${result.code}`)}\n${result.output}`;
}

/**
 * Installs a package alone and writes the programs that will be run.
 * @param {PackedPackage} item
 * @param {readonly PackedPackage[]} all
 * @returns {Promise<string[]>} The programs; empty when the installation failed.
 */
async function prepare(item, all) {
  const project = projectOf(item.name);
  const problem = await installProject(project, [item], all);
  report(`${item.name}: installs alone`, problem);
  if (problem !== undefined) return [];
  writeFileSync(path.join(project, 'imports.mjs'), importProgram(specifiersOf(item.name)));
  const programs = ['imports.mjs'];
  const readme = item.files.includes('README.md') ? readPacked(item.tarball, 'README.md') : '';
  const own = addOnePackageProgram(item, all);
  if (own !== undefined) programs.push(own);
  const examples = await exampleProject(item, all, readme);
  if (examples === undefined) return programs;
  for (const [index, example] of examplesOfMarkdown('README.md', readme).entries()) {
    const { outputText } = ts.transpileModule(example.code, {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        verbatimModuleSyntax: true,
      },
    });
    const file = path.join(examples, `example-${index + 1}.mjs`);
    writeFileSync(file, outputText);
    programs.push(path.relative(project, file));
  }
  const suites = path.join(directoryOf(item.name), 'test', 'node');
  if (existsSync(suites)) cpSync(suites, path.join(project, 'suites'), { recursive: true });
  return programs;
}

/**
 * Puts the program that needs this one package beside it.
 * @param {PackedPackage} item
 * @param {readonly PackedPackage[]} all
 * @returns {string | undefined} Its name in the project.
 */
function addOnePackageProgram(item, all) {
  const file = onePackagePrograms.get(item.name);
  if (file === undefined) return undefined;
  const source = readFileSync(file, 'utf8');
  report(
    `${item.name}: a program of at most 40 lines with this package alone`,
    onePackageProblem(source, item, all),
  );
  writeFileSync(path.join(projectOf(item.name), 'one-package.mjs'), source);
  return 'one-package.mjs';
}

/**
 * Where the examples of a README run: beside the package alone, or in a project with what its `npm install` line adds.
 * @param {PackedPackage} item
 * @param {readonly PackedPackage[]} all
 * @param {string} readme
 * @returns {Promise<string | undefined>} `undefined` when that could not be installed.
 */
async function exampleProject(item, all, readme) {
  const project = projectOf(item.name);
  const named = /^npm install (.+)$/m.exec(readme)?.[1]?.split(' ') ?? [];
  const missing = named.filter((name) => !existsSync(path.join(project, 'node_modules', name)));
  if (missing.length === 0) return project;
  const wider = `${project}-examples`;
  const wanted = all.filter(({ name }) => name === item.name || missing.includes(name));
  const problem = await installProject(wider, wanted, all);
  report(`${item.name}: installs with ${missing.join(', ')}`, problem);
  return problem === undefined ? wider : undefined;
}

/**
 * @param {readonly NodeVersion[]} nodes
 * @param {PackedPackage} item
 * @param {readonly string[]} programs
 */
async function runPrograms(nodes, item, programs) {
  const manifest = JSON.parse(readPacked(item.tarball, 'package.json'));
  for (const node of nodes) {
    for (const program of programs) {
      report(
        `${item.name}: ${program} on Node ${node.version}`,
        await runIn(node, projectOf(item.name), [program]),
      );
    }
    const suites = path.join(projectOf(item.name), 'suites');
    if (existsSync(suites)) {
      const files = readdirSync(suites).filter((file) => file.endsWith('.node-test.mjs'));
      const args = ['--test', ...files.map((file) => path.join('suites', file))];
      report(
        `${item.name}: its suites on Node ${node.version}`,
        await runIn(node, projectOf(item.name), args),
      );
    }
    for (const [name, file] of Object.entries(manifest.bin ?? {})) {
      const script = path.join('node_modules', item.name, String(file));
      const problem = await runIn(node, projectOf(item.name), [script, '--help']);
      report(`${item.name}: ${name} --help on Node ${node.version}`, problem);
    }
  }
}

/**
 * Reports and does not judge: a busy machine would make it red for no fault of the packages.
 * @param {readonly NodeVersion[]} nodes
 */
async function measureImports(nodes) {
  console.log(`\nimport in a fresh process, least of ${importRuns}, milliseconds (goal: ${importGoalMs})`);
  for (const name of contractPackages) {
    const item = packages.find((candidate) => candidate.directory === name);
    if (item === undefined) continue;
    const project = projectOf(item.manifest.name);
    writeFileSync(path.join(project, 'time.mjs'), importTimeProgram(item.manifest.name));
    /** @type {string[]} */
    const shown = [];
    for (const node of nodes) {
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < importRuns; round += 1) {
        const result = await run(node.program, ['time.mjs'], { cwd: project });
        least = Math.min(least, result.code === 0 ? Number(result.stdout) : Number.NaN);
      }
      const mark = least <= importGoalMs ? '' : ' (over the goal)';
      shown.push(`Node ${node.version}: ${least.toFixed(1)}${mark}`);
    }
    console.log(`  ${item.manifest.name.padEnd(26)} ${shown.join('   ')}`);
  }
  console.log('');
}

/** @param {readonly PackedPackage[]} all */
async function checkTypes(all) {
  const project = path.join(directory, 'types');
  const nodeTypes = readJson(path.join(repositoryRoot, 'package.json')).devDependencies['@types/node'];
  const problem = await installProject(project, all, all, { '@types/node': nodeTypes });
  report('a consumer of all packages installs', problem);
  if (problem !== undefined) return;
  for (const [name, reason] of clientsForNewTypes)
    console.log(`left out of TypeScript ${typescriptVersions[0]}: ${name}: ${reason}`);
  for (const resolution of /** @type {const} */ (['nodenext', 'bundler'])) {
    for (const version of typescriptVersions) {
      const isOldest = version === typescriptVersions[0];
      const items = all.filter(({ name }) => !isOldest || !clientsForNewTypes.has(name));
      const place = path.join(project, `${resolution}-${version}`);
      const { source, config } = typeProject(
        items.flatMap((item) => specifiersOf(item.name)),
        resolution,
      );
      mkdirSync(place);
      writeFileSync(path.join(place, 'package.json'), '{ "type": "module" }\n');
      writeFileSync(path.join(place, 'consumer.ts'), source);
      writeFileSync(path.join(place, 'tsconfig.json'), config);
      const compiler = await typescriptCompiler(version);
      const result = await run(process.execPath, [compiler, '-p', place, '--pretty', 'false'], {
        cwd: place,
      });
      report(
        `types with TypeScript ${version}, ${resolution}`,
        result.code === 0 ? undefined : result.output,
      );
    }
  }
}

const started = performance.now();
try {
  /** @type {NodeVersion[]} */
  const nodes = [];
  for (const major of nodeMajors) {
    const program = await nodeProgram(major);
    const version = (await run(program, ['--version'])).stdout.trim().replace(/^v/, '');
    nodes.push({ version, program });
  }
  const packed = await packAll(path.join(directory, 'packed'));
  const size = packed.reduce((sum, item) => sum + readFileSync(item.tarball).byteLength, 0);
  const versions = nodes.map((node) => node.version).join(', ');
  console.log(`${packed.length} packages, ${Math.round(size / 1024)} KiB packed; Node ${versions}`);

  for (const name of onePackagePrograms.keys()) {
    const known = packed.some((item) => item.name === name);
    report(`${name}: is packed`, known ? undefined : 'a program was written for it');
  }

  // Two at a time: an installation waits for the network, a program for the processor.
  const queue = [...packed];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await runPrograms(nodes, item, await prepare(item, packed));
    }
  };
  await Promise.all([worker(), worker()]);
  await checkTypes(packed);
  await measureImports(nodes);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
console.log(`verified in ${((performance.now() - started) / 1000).toFixed(0)} s`);
console.log(String(tally));
process.exitCode = tally.exitCode;
