/**
 * Makes text safe to print: control characters, escape sequences, line breaks and characters that reorder or hide text
 * are shown as the bytes of their UTF-8, `\xHH` each; a hostile file name cannot drive the terminal or forge a line. Path text
 * that was printed this way is still the same path.
 */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (char) =>
      [...new TextEncoder().encode(char)]
        .map((byte) => `\\x${byte.toString(16).padStart(2, '0').toUpperCase()}`)
        .join(''),
  );
}

/** A path of a tree for people, printable; the root itself, whose path is empty, is `.`. */
export function pathText(path: string): string {
  return path === '' ? '.' : printable(path);
}

/** A byte count for people: `17 B`, `4.2 KiB`, `1.3 GiB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A count with its noun: `1 file`, `3 files`. */
export function countText(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A duration for people: `12 ms`, `3.4 s`. */
export function durationText(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Permission bits as `ls` shows them, with the kind in front. */
export function modeText(kind: string, mode: number): string {
  // The mode of a symlink means nothing and is not captured.
  if (kind === 'symlink') return 'lrwxrwxrwx';
  let text = kind === 'directory' ? 'd' : '-';
  for (let shift = 6; shift >= 0; shift -= 3) {
    const bits = (mode >> shift) & 7;
    text += `${bits & 4 ? 'r' : '-'}${bits & 2 ? 'w' : '-'}${bits & 1 ? 'x' : '-'}`;
  }
  return text;
}

/** A word for a shell to take as it is; what cannot be printed is shown escaped and has to be typed. */
export function shellWord(text: string): string {
  const shown = printable(text);
  return /^[\w./:@%+=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
