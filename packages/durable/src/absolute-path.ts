/** Returns the bytes of an absolute path without trailing slashes: `/` alone becomes `/`. */
export function absolutePathBytes(path: string | Uint8Array): Buffer {
  const bytes = typeof path === 'string' ? Buffer.from(path, 'utf8') : Buffer.from(path);
  if (bytes[0] !== 0x2f) throw new TypeError(`path ${JSON.stringify(bytes.toString())} is not absolute`);
  if (bytes.includes(0)) throw new TypeError(`path ${JSON.stringify(bytes.toString())} holds a NUL`);
  for (const component of pathComponents(bytes)) {
    const { length } = component;
    if (component[0] === 0x2e && (length === 1 || (length === 2 && component[1] === 0x2e))) {
      // The kernel would follow a symlink that stands before "/." whatever the flags say.
      throw new TypeError(
        `path ${JSON.stringify(bytes.toString())} holds "." or ".." components: resolve it first`,
      );
    }
  }
  let end = bytes.length;
  while (end > 1 && bytes[end - 1] === 0x2f) end -= 1;
  return bytes.subarray(0, end);
}

/** Splits a path at its slashes; empty components are left out. */
export function pathComponents(path: Uint8Array): Uint8Array[] {
  const components: Uint8Array[] = [];
  let start = 0;
  for (let index = 0; index <= path.length; index += 1) {
    if (index < path.length && path[index] !== 0x2f) continue;
    if (index > start) components.push(path.subarray(start, index));
    start = index + 1;
  }
  return components;
}
