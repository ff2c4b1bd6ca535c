// A ledger's name as a path, and back. Every name gets a directory of its own that no other name's lies in the way of:
// "a" and "a/b" are the directories "a=" and "a+/b=". Longer pieces than a file system takes are continued with "~".
const longest = 200;

/**
 * The path components of a ledger's directory.
 * @param {string} name
 */
export function pathOf(name) {
  const segments = name.split('/');
  return segments.flatMap((segment, index) => {
    const pieces = segment.match(new RegExp(`.{1,${longest}}`, 'g')) ?? [];
    const end = index === segments.length - 1 ? '=' : '+';
    return pieces.map((piece, at) => piece + (at === pieces.length - 1 ? end : '~'));
  });
}

/**
 * The name of a ledger's directory; `undefined` for anything else that may lie there.
 * @param {readonly string[]} components
 */
export function nameOf(components) {
  let name = '';
  for (const [index, component] of components.entries()) {
    const mark = component.at(-1) ?? '';
    if ((mark === '=') !== (index === components.length - 1) || !'=+~'.includes(mark)) return undefined;
    name += component.slice(0, -1) + (mark === '+' ? '/' : '');
  }
  return name;
}
