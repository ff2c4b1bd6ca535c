import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import { afterAll } from 'vitest';

const made: string[] = [];

afterAll(() => {
  for (const directory of made.splice(0)) remove(directory);
});

/** A fresh directory, removed after the file's tests. */
export function temporaryDirectory(): string {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'workspacestore-')));
  made.push(directory);
  return directory;
}

/** Removes a tree whose directories may be read-only. */
export function remove(directory: string): void {
  const open = (at: Buffer): void => {
    for (const entry of fs.readdirSync(at, { withFileTypes: true, encoding: 'buffer' })) {
      if (!entry.isDirectory()) continue;
      const child = Buffer.concat([at, Buffer.from('/'), entry.name]);
      fs.chmodSync(child, 0o700);
      open(child);
    }
  };
  if (!fs.existsSync(directory)) return;
  fs.chmodSync(directory, 0o700);
  open(Buffer.from(directory));
  fs.rmSync(directory, { recursive: true, force: true });
}
