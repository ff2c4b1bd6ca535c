/** @typedef {import('./collect.mjs').ErrorClassInfo} ErrorClassInfo */

/** Prefixes that are not simply the package's directory in upper case. */
const prefixes = new Map([['workspacestore', 'WORKSPACE']]);

/**
 * The prefix that the codes of a package must have.
 * @param {string} directory
 */
export function codePrefix(directory) {
  return `${prefixes.get(directory) ?? directory.toUpperCase().replaceAll('-', '_')}_`;
}

/**
 * Checks what can be seen without running anything.
 * @param {readonly ErrorClassInfo[]} classes
 * @returns {string[]} One line per problem.
 */
export function verifyClasses(classes) {
  /** @type {string[]} */
  const problems = [];
  /** @type {Map<string, ErrorClassInfo>} */
  const owners = new Map();
  for (const info of classes) {
    const where = `packages/${info.package}/${info.file}: ${info.className}`;
    const prefix = codePrefix(info.package);
    if (!info.code.startsWith(prefix)) problems.push(`${where}: code ${info.code} must start with ${prefix}`);
    if (!/^[A-Z0-9]+(_[A-Z0-9]+)+$/.test(info.code))
      problems.push(`${where}: code ${info.code} is not upper snake case`);
    if (!info.className.endsWith('Error'))
      problems.push(`${where}: the name of an error class ends in Error`);
    if (info.doc === '') problems.push(`${where}: has no documentation comment`);
    else if (!info.doc.endsWith('.')) problems.push(`${where}: the documentation comment is not a sentence`);
    const other = owners.get(info.code);
    if (other !== undefined)
      problems.push(`${where}: code ${info.code} is also the code of ${other.className}`);
    owners.set(info.code, info);
  }
  return problems;
}

/**
 * Compares the exported classes of the built packages with the classes in the sources.
 * @param {readonly ErrorClassInfo[]} classes
 * @param {ReadonlyMap<string, ReadonlySet<string>>} exportedCodes Codes by package directory.
 * @returns {string[]}
 */
export function verifyExports(classes, exportedCodes) {
  return classes
    .filter((info) => exportedCodes.get(info.package)?.has(info.code) !== true)
    .map((info) => `packages/${info.package}: ${info.className} is not exported from any public entry point`);
}

/**
 * Reads the notes of a test run.
 * @param {readonly string[]} texts Contents of the note files.
 * @returns {{ byPackage: Set<string>, byTest: Set<string> }}
 */
export function readNotes(texts) {
  const byPackage = new Set();
  const byTest = new Set();
  for (const line of texts.join('\n').split('\n')) {
    const [code, origin] = line.split(' ');
    if (code === undefined || code === '') continue;
    if (origin === 'package') byPackage.add(code);
    else byTest.add(code);
  }
  return { byPackage, byTest };
}

/**
 * Checks that every class was raised by the packages themselves in some test.
 * @param {readonly ErrorClassInfo[]} classes
 * @param {{ byPackage: ReadonlySet<string>, byTest: ReadonlySet<string> }} notes
 * @param {ReadonlyMap<string, string>} raisedByOthers Codes that only code outside the packages raises, with the reason.
 * @returns {string[]}
 */
export function verifyThrown(classes, notes, raisedByOthers) {
  /** @type {string[]} */
  const problems = [];
  for (const info of classes) {
    const { code, className } = info;
    const reason = raisedByOthers.get(code);
    if (reason !== undefined && notes.byPackage.has(code)) {
      problems.push(
        `${code}: listed as raised by others only (${reason}), but a package raised it: remove the entry`,
      );
    } else if (notes.byPackage.has(code) || (reason !== undefined && notes.byTest.has(code))) {
      continue;
    } else if (notes.byTest.has(code)) {
      problems.push(`${code}: ${className} was only constructed by tests themselves, never by a package`);
    } else {
      problems.push(`${code}: ${className} was not raised in any test`);
    }
  }
  for (const code of raisedByOthers.keys()) {
    if (!classes.some((info) => info.code === code))
      problems.push(`${code}: listed as raised by others, but no class has it`);
  }
  return problems;
}

/**
 * Checks that the table of outcomes names codes and kinds that exist.
 * @param {readonly ErrorClassInfo[]} classes
 * @param {readonly import('./render.mjs').Outcome[]} outcomes
 * @returns {string[]}
 */
export function verifyOutcomes(classes, outcomes) {
  /** @type {string[]} */
  const problems = [];
  for (const { outcome, reported } of outcomes) {
    for (const { code, kind } of reported) {
      const info = classes.find((candidate) => candidate.code === code);
      if (info === undefined) problems.push(`outcome ${outcome}: no class has the code ${code}`);
      else if (kind !== undefined && !info.fields.some((field) => field.type.includes(`'${kind}'`))) {
        problems.push(`outcome ${outcome}: ${code} has no kind ${kind}`);
      }
    }
  }
  return problems;
}
