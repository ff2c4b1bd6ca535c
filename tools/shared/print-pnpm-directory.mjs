// Run by setup through npx: tells which directory of the search path holds the package manager that npx brought.
import { existsSync } from 'node:fs';
import path from 'node:path';

const directories = (process.env['PATH'] ?? '').split(path.delimiter);
console.log(directories.find((directory) => existsSync(path.join(directory, 'pnpm'))) ?? '');
