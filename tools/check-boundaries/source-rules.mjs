import { builtinModules } from 'node:module';

import ts from 'typescript';

/**
 * Rules of this repository that no linter knows. Each problem is a line `file:line: text`.
 *
 * The only code that changes a disk is the package `durable`: the crash model injects itself there, and a write anywhere
 * else would be a write that no crash test has seen. Hence a list of what others may take from `node:fs`, and not a list
 * of what they may not: a function added to Node tomorrow is refused until somebody has looked at it.
 */
const readingNames = new Set([
  'access',
  'accessSync',
  'constants',
  'existsSync',
  'lstat',
  'lstatSync',
  'promises',
  'readdir',
  'readdirSync',
  'readFile',
  'readFileSync',
  'readlink',
  'readlinkSync',
  'realpath',
  'realpathSync',
  'stat',
  'statSync',
  'statfs',
  'statfsSync',
  'watch',
]);

const fileSystemModules = new Set(['fs', 'fs/promises', 'node:fs', 'node:fs/promises']);
const writersOfDisk = new Set(['durable']);
const readersOfEnvironment = new Set(['agent-tools', 'cli', 'holdfast']);
const ownersOfTime = new Set(['packages/base/src/clock.ts']);

/**
 * @typedef {object} SourceFacts
 * @property {string[]} problems
 * @property {Set<string>} imports Names of packages that the file imports at run time or for types, `#` names left out.
 */

/**
 * Checks one source file of a package.
 * @param {string} packageDirectory
 * @param {string} file Path from the root of the repository, with `/`.
 * @param {string} text
 * @param {{ isEntry?: boolean }} [options] Whether the file is a public entry point.
 * @returns {SourceFacts}
 */
export function checkSource(packageDirectory, file, text, options = {}) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
  /** @type {string[]} */
  const problems = [];
  /** @type {Set<string>} */
  const imports = new Set();
  /** @type {Set<string>} Local names that stand for the whole file system module. */
  const fileSystemNames = new Set();

  /** @param {ts.Node} node @param {string} message */
  const report = (node, message) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    problems.push(`${file}:${line + 1}: ${message}`);
  };

  /** @param {ts.Node} node @param {string} specifier */
  const noteImport = (node, specifier) => {
    if (specifier.startsWith('.') || specifier.startsWith('#')) return;
    if (specifier.startsWith('node:')) return;
    if (builtinModules.includes(specifier)) {
      report(node, `import "node:${specifier}" with its prefix`);
      return;
    }
    const [first = '', second = ''] = specifier.split('/');
    imports.add(first.startsWith('@') ? `${first}/${second}` : first);
  };

  /** @param {ts.Node} node @param {string} name */
  const checkFileSystemName = (node, name) => {
    if (writersOfDisk.has(packageDirectory) || readingNames.has(name)) return;
    report(
      node,
      `node:fs "${name}": only the package durable may change a disk or open files; call it instead`,
    );
  };

  /** @param {ts.ImportDeclaration} node */
  const checkImport = (node) => {
    if (!ts.isStringLiteral(node.moduleSpecifier)) return;
    const specifier = node.moduleSpecifier.text;
    noteImport(node, specifier);
    const clause = node.importClause;
    if (!fileSystemModules.has(specifier) || clause === undefined || clause.isTypeOnly) return;
    if (clause.name !== undefined) fileSystemNames.add(clause.name.text);
    const bindings = clause.namedBindings;
    if (bindings === undefined) return;
    if (ts.isNamespaceImport(bindings)) {
      fileSystemNames.add(bindings.name.text);
      return;
    }
    for (const element of bindings.elements) {
      if (element.isTypeOnly) continue;
      const imported = (element.propertyName ?? element.name).text;
      if (imported === 'default' || imported === 'promises') fileSystemNames.add(element.name.text);
      else checkFileSystemName(element, imported);
    }
  };

  /** @param {ts.ExportDeclaration} node */
  const checkExport = (node) => {
    if (node.exportClause === undefined) report(node, 'export * hides what is public: name every export');
    if (node.moduleSpecifier === undefined || !ts.isStringLiteral(node.moduleSpecifier)) return;
    noteImport(node, node.moduleSpecifier.text);
    if (fileSystemModules.has(node.moduleSpecifier.text) && !node.isTypeOnly)
      report(node, 'node:fs is not re-exported');
  };

  /** @param {ts.CallExpression} node */
  const checkCall = (node) => {
    const [argument] = node.arguments;
    const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword;
    const name = node.expression.getText(source);
    if (isImport && argument !== undefined && ts.isStringLiteral(argument)) noteImport(node, argument.text);
    const loads = isImport || name === 'require' || name.endsWith('getBuiltinModule');
    if (!loads || writersOfDisk.has(packageDirectory)) return;
    if (argument !== undefined && ts.isStringLiteral(argument) && fileSystemModules.has(argument.text)) {
      report(node, 'node:fs is imported statically, so that its use can be checked');
    }
  };

  /** @param {ts.PropertyAccessExpression | ts.ElementAccessExpression} node */
  const checkAccess = (node) => {
    const object = node.expression.getText(source);
    const name = ts.isPropertyAccessExpression(node)
      ? node.name.text
      : ts.isStringLiteral(node.argumentExpression)
        ? node.argumentExpression.text
        : '(computed)';
    const isFileSystem =
      fileSystemNames.has(object) || fileSystemNames.has(object.replace(/\.promises$/, ''));
    if (isFileSystem) checkFileSystemName(node, name);
    if (object === 'process' && name === 'env' && !readersOfEnvironment.has(packageDirectory)) {
      report(node, 'libraries read no environment variables: take an option');
    }
  };

  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isImportDeclaration(node)) checkImport(node);
    else if (ts.isExportDeclaration(node)) checkExport(node);
    else if (ts.isCallExpression(node)) checkCall(node);
    else if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) checkAccess(node);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal)) noteImport(node, node.argument.literal.text);
    }
    const makesDate =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(source) === 'Date';
    if (makesDate && (node.arguments?.length ?? 0) === 0 && !ownersOfTime.has(file)) {
      report(node, 'Date without an argument reads the time: take a Clock from @holdfast/base');
    }
    ts.forEachChild(node, visit);
  };
  visit(source);

  if (options.isEntry === true) {
    for (const statement of source.statements) {
      if (!ts.isExportDeclaration(statement))
        report(statement, 'an entry point holds re-exports and nothing else');
    }
  }
  return { problems, imports };
}
