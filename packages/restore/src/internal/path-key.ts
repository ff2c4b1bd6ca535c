/**
 * Paths as map keys and in order. A key is the bytes as Latin-1 text: one character a byte, so comparing keys compares
 * bytes. A tree key has NUL for the separator, so that a directory sorts immediately before what is in it.
 */
export function pathKey(path: Uint8Array): string {
  return Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString('latin1');
}

/** Returns the bytes of a key. */
export function keyPath(key: string): Uint8Array {
  return new Uint8Array(Buffer.from(key, 'latin1'));
}

/** Orders keys by bytes. */
export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The key under which entries of a tree sort canonically: a directory before its content, siblings by bytes. */
export function treeOrder(key: string): string {
  return key.includes('/') ? key.replaceAll('/', '\0') : key;
}

/** Orders paths canonically without making keys of them. Equal paths, the usual case, are found by the platform. */
export function compareTreeOrder(a: Uint8Array, b: Uint8Array): number {
  if (a.length === b.length && Buffer.compare(a, b) === 0) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const x = a[index] as number;
    const y = b[index] as number;
    if (x !== y) return (x === slash ? 0 : x) - (y === slash ? 0 : y);
  }
  return a.length - b.length;
}

const slash = 0x2f;

/** The key of the directory that holds `key`; the empty key is the root. */
export function parentKey(key: string): string {
  const cut = key.lastIndexOf('/');
  return cut < 0 ? '' : key.slice(0, cut);
}

/** The last component. */
export function baseKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** Number of components; 0 for the root. */
export function depthOf(key: string): number {
  if (key === '') return 0;
  let depth = 1;
  for (let index = key.indexOf('/'); index >= 0; index = key.indexOf('/', index + 1)) depth += 1;
  return depth;
}

/** Tells whether `key` is `ancestor` or below it. */
export function isWithin(key: string, ancestor: string): boolean {
  return ancestor === '' || key === ancestor || key.startsWith(`${ancestor}/`);
}
