import path from 'node:path';

/** @typedef {{ readonly number: string, readonly file: string, readonly title: string }} Proof */
/** @typedef {{ testResults: readonly { name: string, assertionResults: readonly { title: string, status: string }[] }[] }} VitestReport */

/**
 * The tests that the page names, in its order.
 * @param {string} page
 * @returns {Proof[]}
 */
export function proofsOf(page) {
  return page
    .split('\n')
    .filter((line) => /^\| [A-Z]\d+ \|/.test(line))
    .flatMap((row) => {
      const cells = row.split(' | ');
      const number = String(cells[0]).replace('| ', '');
      return String(cells.at(-1))
        .replace(/ \|$/, '')
        .split('<br>')
        .map((proof) => {
          const match = /^`([^`]+)` › (.+?)(?: ★)?$/.exec(proof.trim());
          if (match === null) throw new Error(`${number}: "${proof}" is not a file and a title`);
          return { number, file: String(match[1]), title: String(match[2]) };
        });
    });
}

/**
 * Says which proofs did not run and pass. A title with the marks of a table (`%s`, `$name`, `${name}`) stands for every test made
 * of it: all of them must have passed, and there must be one.
 * @param {readonly Proof[]} proofs
 * @param {VitestReport} report
 * @param {string} root The repository.
 * @returns {string[]}
 */
export function unproved(proofs, report, root) {
  const files = new Map(
    report.testResults.map((file) => [path.relative(root, file.name).split(path.sep).join('/'), file]),
  );
  return proofs.flatMap(({ number, file, title }) => {
    const where = `${number}: ${file} › ${title}`;
    const results = files.get(file);
    if (results === undefined) return [`${where}: the file did not run`];
    const pattern = patternOf(title);
    const tests = results.assertionResults.filter((test) => pattern.test(test.title));
    if (tests.length === 0) return [`${where}: there is no such test`];
    const other = tests.find((test) => test.status !== 'passed');
    return other === undefined ? [] : [`${where}: "${other.title}" is ${other.status}`];
  });
}

/** @param {string} title */
function patternOf(title) {
  const pieces = title.split(/(%[sdifjoOc#]|\$\{[^}]*\}|\$[\w.]+)/);
  const source = pieces.map((piece, index) => {
    return index % 2 === 1 ? '[^]*' : piece.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  });
  return new RegExp(`^${source.join('')}$`);
}
