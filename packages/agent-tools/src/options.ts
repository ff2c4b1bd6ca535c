import type { Clock, Random } from '@holdfast/base';
import type { FileSystem } from '@holdfast/durable';

/** What the tools never exceed. */
export interface ToolLimits {
  /** Bytes that one `read` returns; default 256 KiB. Larger files can only be read in parts, and not changed. */
  readonly readBytes: number;
  /** Bytes of a file that `write` or `edit` leaves behind; default 16 MiB. */
  readonly fileBytes: number;
  /** Entries of one `list`; default 1,000. */
  readonly listEntries: number;
  /** Matches of one `search`; default 200. */
  readonly searchMatches: number;
  /** Bytes of all files that one `search` looks at; default 64 MiB. */
  readonly searchBytes: number;
  /** Bytes of a file that `search` still looks at; default 4 MiB. */
  readonly searchFileBytes: number;
  /** Milliseconds of one `search`; default 5,000. */
  readonly searchMs: number;
  /** Milliseconds of one `shell` command unless the call asks for less; default 600,000. */
  readonly shellMs: number;
  /** Bytes kept of each output of a command, half from the beginning and half from the end; default 32 KiB. */
  readonly outputBytes: number;
}

/** The limits that apply unless others are given. */
export const defaultToolLimits: ToolLimits = Object.freeze({
  readBytes: 256 * 1024,
  fileBytes: 16 * 1024 * 1024,
  listEntries: 1000,
  searchMatches: 200,
  searchBytes: 64 * 1024 * 1024,
  searchFileBytes: 4 * 1024 * 1024,
  searchMs: 5000,
  shellMs: 600_000,
  outputBytes: 32 * 1024,
});

/** How commands are run. */
export interface ShellOptions {
  /** Absolute path of a shell that takes `-c`; default `/bin/sh`. */
  readonly program?: string | undefined;
  /**
   * The whole environment of commands. Default: only the variables of this process that name no secret as a rule
   * (`PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_ALL`, `TZ`, `TMPDIR`).
   */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds between SIGTERM and SIGKILL when a command is cut short; default 500. */
  readonly graceMs?: number | undefined;
}

export interface WorkspaceToolsOptions {
  readonly limits?: Partial<ToolLimits> | undefined;
  readonly shell?: ShellOptions | undefined;
  /** Names of directories that `list` and `search` do not enter on their own; default `.git` and `node_modules`. */
  readonly skip?: readonly string[] | undefined;
  /** Permission bits of files that `write` creates; default `0o644`. Directories get `0o755` less the umask. */
  readonly fileMode?: number | undefined;
  readonly fileSystem?: FileSystem | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}
