/** Joins a directory's path and a name; the root's path is empty. */
export function joinPath(directory: Uint8Array, name: Uint8Array): Uint8Array {
  if (directory.length === 0) return name;
  const path = new Uint8Array(directory.length + 1 + name.length);
  path.set(directory);
  path[directory.length] = 0x2f;
  path.set(name, directory.length + 1);
  return path;
}

/** One character per byte: a path as the key of a map. */
export function byteText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The inverse of `byteText`. */
export function textBytes(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}
