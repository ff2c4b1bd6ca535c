/**
 * Reads what a process told the kernel to change below a directory, from the output of
 * `strace -f -e trace=<traced>`, in the words of `TracingFileSystem.changes`. Names inside `/proc/<pid>/fd/<n>` are
 * resolved by the descriptors that the process opened; calls that failed changed nothing and are left out.
 */
export const traced = [
  ...['openat', 'mkdir', 'rmdir', 'unlink', 'rename', 'link', 'symlink', 'fsync', 'fdatasync'],
  ...['write', 'pwrite64', 'ftruncate', 'fchmod', 'chmod', 'copy_file_range'],
];

/** @param {string} text A string as strace prints it, without its quotes. */
function unquote(text) {
  const bytes = text.replaceAll(/\\(?:([0-7]{1,3})|x([0-9a-f]{2})|(.))/g, (_, octal, hex, other) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return { n: '\n', t: '\t', r: '\r', v: '\v', f: '\f' }[/** @type {string} */ (other)] ?? other;
  });
  return Buffer.from(bytes, 'latin1').toString();
}

/**
 * Lines of whole calls, in the order in which they began: a call that another thread interrupted is two lines.
 * @param {string} output
 */
function wholeCalls(output) {
  /** @type {string[]} */
  const calls = [];
  /** @type {Map<string, number>} */
  const unfinished = new Map();
  for (const line of output.split('\n')) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    if (resumed !== null) {
      const at = unfinished.get(pid);
      if (at !== undefined) calls[at] += resumed[1] ?? '';
      unfinished.delete(pid);
    } else if (rest.endsWith('<unfinished ...>')) {
      unfinished.set(pid, calls.push(rest.slice(0, -'<unfinished ...>'.length)) - 1);
    } else if (rest !== '') calls.push(rest);
  }
  return calls;
}

/**
 * @param {string} output
 * @param {string} base Only what is below is of interest.
 * @returns {string[]}
 */
export function kernelChanges(output, base) {
  /** @type {Map<number, string>} */
  const paths = new Map();
  /** @type {string[]} */
  const changes = [];
  /** @param {string} path */
  const resolve = (path) => {
    const inside = /^\/proc\/(?:self|\d+)\/fd\/(\d+)(\/.*)?$/.exec(path);
    return inside === null ? path : (paths.get(Number(inside[1])) ?? '?') + (inside[2] ?? '');
  };
  /** @param {string} path */
  const shorten = (path) =>
    path.slice(base.length).replace(/(\.holdfast-(?:tmp|trash)-)[a-z0-9-]+-[0-9a-f]{16}/g, '$1*');
  /** @param {string} operation @param {string} path @param {string} [target] */
  const change = (operation, path, target) => {
    if ((target ?? path) !== base && !(target ?? path).startsWith(`${base}/`)) return;
    changes.push(
      [operation, shorten(path), ...(target === undefined ? [] : ['→', shorten(target)])].join(' '),
    );
  };
  for (const call of wholeCalls(output)) {
    const [, name = '', args = '', result = ''] = /^(\w+)\((.*)\) += (-?\d+)/.exec(call) ?? [];
    if (name === '' || Number(result) < 0) continue;
    const strings = [...args.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => unquote(text));
    const descriptor = Number(/^(\d+)/.exec(args)?.[1] ?? -1);
    const [first = '', second = ''] = strings;
    switch (name) {
      case 'openat': {
        const path = resolve(first);
        paths.set(Number(result), path);
        if (args.includes('O_CREAT')) change('createFile', path);
        break;
      }
      case 'fsync':
      case 'fdatasync':
        change('sync', paths.get(descriptor) ?? '?');
        break;
      case 'write':
      case 'pwrite64':
        change('write', paths.get(descriptor) ?? '?');
        break;
      case 'ftruncate':
        change('truncate', paths.get(descriptor) ?? '?');
        break;
      case 'fchmod':
        change('chmod', paths.get(descriptor) ?? '?');
        break;
      case 'chmod':
        change('chmod', resolve(first));
        break;
      case 'copy_file_range':
        change('write', paths.get(Number(/, (\d+), /.exec(args)?.[1] ?? -1)) ?? '?');
        break;
      case 'symlink':
        change('symlink', resolve(second));
        break;
      case 'link':
      case 'rename':
        change(name, resolve(first), resolve(second));
        break;
      default:
        change(name, resolve(first));
    }
  }
  return changes;
}
