import { createHash } from 'node:crypto';
import * as fs from 'node:fs';

import type { TreeNode } from '@holdfast/workspacestore/testing';

/** A tree as text, one line an entry, read with plain Node calls that share nothing with the package. */
export function walk(root: string): string[] {
  const lines: string[] = [];
  const visit = (directory: Buffer, prefix: Buffer): void => {
    const names = fs.readdirSync(directory, { encoding: 'buffer' }).sort((a, b) => Buffer.compare(a, b));
    for (const name of names) {
      const full = Buffer.concat([directory, Buffer.from('/'), name]);
      const shown = Buffer.concat([prefix, name]);
      const stat = fs.lstatSync(full);
      const mode = (stat.mode & 0o777).toString(8);
      if (stat.isSymbolicLink())
        lines.push(line(shown, 'link', '', fs.readlinkSync(full, 'buffer').toString('hex')));
      else if (stat.isDirectory()) {
        lines.push(line(shown, 'directory', mode, ''));
        visit(full, Buffer.concat([shown, Buffer.from('/')]));
      } else if (stat.isFile()) lines.push(line(shown, 'file', mode, digest(fs.readFileSync(full))));
      else lines.push(line(shown, 'special', mode, ''));
    }
  };
  visit(Buffer.from(root), Buffer.alloc(0));
  return lines.sort();
}

/** The same text for nodes held as data. */
export function describeNodes(nodes: readonly TreeNode[]): string[] {
  return nodes
    .map(({ path, kind, mode, content, target }) => {
      const shown = Buffer.from(path);
      if (kind === 'symlink')
        return line(shown, 'link', '', Buffer.from(target as Uint8Array).toString('hex'));
      if (kind === 'directory') return line(shown, 'directory', mode.toString(8), '');
      return line(shown, 'file', mode.toString(8), digest(content as Uint8Array));
    })
    .sort();
}

function line(path: Buffer, kind: string, mode: string, rest: string): string {
  return `${path.toString('latin1')} ${kind} ${mode} ${rest}`.trimEnd();
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
