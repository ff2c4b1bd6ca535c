/**
 * @typedef {object} Link
 * @property {number} line
 * @property {string} target
 */

/**
 * Relative links and images of a Markdown text, outside of code.
 * @param {string} text
 * @returns {Link[]}
 */
export function linksOf(text) {
  /** @type {Link[]} */
  const links = [];
  let fenced = false;
  for (const [index, raw] of text.split('\n').entries()) {
    if (/^\s*```/.test(raw)) fenced = !fenced;
    if (fenced) continue;
    const line = raw.replaceAll(/`[^`]*`/g, '');
    const targets = [
      ...[...line.matchAll(/\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g)].map((match) => match[1]),
      ...[...line.matchAll(/^\s*\[[^\]]+\]:\s+(\S+)/g)].map((match) => match[1]),
    ];
    for (const target of targets) {
      if (target !== undefined && !/^[a-z][a-z0-9+.-]*:/i.test(target))
        links.push({ line: index + 1, target });
    }
  }
  return links;
}

/**
 * The anchors of a Markdown text, as code hosts make them from headings.
 * @param {string} text
 * @returns {Set<string>}
 */
export function anchorsOf(text) {
  /** @type {Set<string>} */
  const anchors = new Set();
  let fenced = false;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^#{1,6}\s+(.*?)\s*#*$/.exec(line);
    if (heading !== null) {
      const words = (heading[1] ?? '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
      const base = words.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
      let anchor = base;
      for (let copy = 1; anchors.has(anchor); copy += 1) anchor = `${base}-${copy}`;
      anchors.add(anchor);
    }
    for (const match of line.matchAll(/<a (?:id|name)="([^"]+)"/g))
      if (match[1] !== undefined) anchors.add(match[1]);
  }
  return anchors;
}
