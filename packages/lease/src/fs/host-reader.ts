import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** The few facts about a host that identities are made of; replaced in tests. */
export interface HostReader {
  readonly pid: number;
  readonly hostName: string;
  /** Linux: a pid says nothing unless its namespace is known. */
  readonly hasPidNamespaces: boolean;
  /** `undefined` when it cannot be read. */
  readText(path: string): string | undefined;
  readLink(path: string): string | undefined;
  /** `false` only when the kernel says that there is no such process. */
  processExists(pid: number): boolean;
}

/** Reads from the kernel that this code runs on. */
export const systemHostReader: HostReader = Object.freeze({
  pid: process.pid,
  hostName: hostname(),
  hasPidNamespaces: process.platform === 'linux',
  readText: (path: string) => unlessRefused(() => readFileSync(path, 'utf8')),
  readLink: (path: string) => unlessRefused(() => readlinkSync(path)),
  processExists: (pid: number) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      // EPERM: it exists and belongs to somebody else.
      return (error as { code?: unknown }).code !== 'ESRCH';
    }
  },
});

function unlessRefused(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
