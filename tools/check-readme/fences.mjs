/**
 * @typedef {object} Example
 * @property {string} source Where it stands: path and line of the first line of code.
 * @property {string} code
 */

/**
 * Takes the ```ts fences out of a Markdown text. Other fences (sh, json, text) are not programs and are left alone.
 * @param {string} file Path to show.
 * @param {string} text
 * @returns {Example[]}
 */
export function examplesOfMarkdown(file, text) {
  return fencesOf(file, text.split('\n'));
}

/**
 * Takes the ```ts fences out of the documentation comments of a source text.
 * @param {string} file Path to show.
 * @param {string} text
 * @returns {Example[]}
 */
export function examplesOfSource(file, text) {
  const lines = text.split('\n').map((line) => /^\s*\* ?(.*)$/.exec(line)?.[1] ?? '');
  return fencesOf(file, lines);
}

/**
 * @param {string} file
 * @param {readonly string[]} lines
 * @returns {Example[]}
 */
function fencesOf(file, lines) {
  /** @type {Example[]} */
  const examples = [];
  /** @type {{ indent: string, isExample: boolean, start: number, code: string[] } | undefined} */
  let open;
  for (const [index, line] of lines.entries()) {
    if (open === undefined) {
      const start = /^(\s*)```(\S*)/.exec(line);
      if (start === null) continue;
      const language = start[2] ?? '';
      open = {
        indent: start[1] ?? '',
        isExample: language === 'ts' || language === 'typescript',
        start: index + 2,
        code: [],
      };
    } else if (line.trim() === '```') {
      if (open.isExample)
        examples.push({ source: `${file}:${open.start}`, code: `${open.code.join('\n')}\n` });
      open = undefined;
    } else {
      open.code.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    }
  }
  if (open !== undefined) throw new Error(`${file}:${open.start - 1}: a fence is not closed`);
  return examples;
}
