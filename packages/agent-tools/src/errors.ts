import { HoldfastError, quote } from '@holdfast/base';
import type { NodeKind } from '@holdfast/durable';

/** Why a path was refused. */
export type WorkspacePathRule =
  | 'empty'
  | 'nul'
  /** A backslash that is no escape of path text, or a lone surrogate. */
  | 'encoding'
  | 'too-long'
  | 'too-deep'
  | 'absolute'
  | 'parent'
  /** A symlink on the way leads out of the workspace. */
  | 'outside-root'
  | 'link-loop'
  /** Something on the way is no directory. */
  | 'not-a-directory'
  /** Belongs to the library. */
  | 'reserved';

const pathAdvice: Readonly<Record<WorkspacePathRule, string>> = {
  empty: 'give a path',
  nul: 'a path cannot hold NUL',
  encoding: 'write a backslash as \\\\ and a raw byte as \\xHH',
  'too-long': 'at most 4096 bytes, 255 in one name',
  'too-deep': 'at most 256 directories',
  absolute: 'give the path relative to the workspace',
  parent: 'give the path relative to the workspace, without ".."',
  'outside-root': 'a symlink on the way leads out of the workspace',
  'link-loop': 'too many symlinks on the way',
  'not-a-directory': 'something on the way is not a directory',
  reserved: 'the name is reserved for restores',
};

/** A path does not name a place in the workspace; nothing was touched. */
export class WorkspacePathError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_PATH';
  declare readonly code: 'AGENT_TOOLS_PATH';
  /** The path as it was given, cut at 4096 characters. */
  declare readonly path: string;
  declare readonly rule: WorkspacePathRule;

  constructor(path: string, rule: WorkspacePathRule, options: { readonly cause?: unknown } = {}) {
    super(`path ${quote(path)} breaks rule ${rule}: ${pathAdvice[rule]}`, {
      cause: options.cause,
      fields: { path: path.slice(0, 4096), rule },
      effect: 'none',
    });
  }
}

/** Nothing has that path; the loop now knows so and may create it. */
export class FileMissingError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_MISSING';
  declare readonly code: 'AGENT_TOOLS_MISSING';
  declare readonly path: string;

  constructor(path: string) {
    super(`${quote(path)} does not exist: list its directory, or create it`, {
      fields: { path },
      effect: 'none',
    });
  }
}

/** Something else than the tool works on has that path; it was not opened. */
export class UnexpectedNodeError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_UNEXPECTED_NODE';
  declare readonly code: 'AGENT_TOOLS_UNEXPECTED_NODE';
  declare readonly path: string;
  declare readonly expected: 'file' | 'directory';
  declare readonly found: NodeKind;

  constructor(path: string, expected: 'file' | 'directory', found: NodeKind) {
    super(`${quote(path)} is a ${found}, expected a ${expected === 'file' ? 'regular file' : expected}`, {
      fields: { path, expected, found },
      effect: 'none',
    });
  }
}

/** A file holds bytes that are not UTF-8, so no text can show what it holds. */
export class FileNotTextError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_NOT_TEXT';
  declare readonly code: 'AGENT_TOOLS_NOT_TEXT';
  declare readonly path: string;

  constructor(path: string, options: { readonly cause?: unknown } = {}) {
    super(`${quote(path)} is not UTF-8 text: use a program that knows its format`, {
      cause: options.cause,
      fields: { path },
    });
  }
}

/** A file would hold or holds more than the tool handles; nothing was changed. */
export class FileTooBigError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_TOO_BIG';
  declare readonly code: 'AGENT_TOOLS_TOO_BIG';
  declare readonly path: string;
  declare readonly bytes: number;
  declare readonly maxBytes: number;

  constructor(path: string, bytes: number, maxBytes: number) {
    super(`${quote(path)} has ${bytes} bytes, at most ${maxBytes} can be written: write it in parts`, {
      fields: { path, bytes, maxBytes },
      effect: 'none',
    });
  }
}

/** How what a loop knows of a file differs from the file. */
export type StaleKind =
  /** It exists, but this loop has not read all of it. */
  | 'unread'
  /** It holds other bytes than this loop read. */
  | 'changed'
  /** This loop has read it, and it is gone. */
  | 'removed'
  /** It was absent when this loop looked, or a moment ago. */
  | 'appeared'
  /** Its directories were moved about while the tool waited for them. */
  | 'moved';

const staleAdvice: Readonly<Record<StaleKind, string>> = {
  unread: 'it exists and was not read as a whole',
  changed: 'it changed since it was read',
  removed: 'it was removed since it was read',
  appeared: 'it appeared since it was found absent',
  moved: 'its directories changed meanwhile',
};

/** A loop wanted to change a file that it does not know as it is now. Nothing was changed; what it knew is forgotten. */
export class StaleFileError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_STALE_FILE';
  declare readonly code: 'AGENT_TOOLS_STALE_FILE';
  declare readonly path: string;
  declare readonly kind: StaleKind;

  constructor(path: string, kind: StaleKind) {
    super(
      `${quote(path)} was not changed (${kind}): ${staleAdvice[kind]}; read it as a whole and try again`,
      {
        fields: { path, kind },
        effect: 'none',
      },
    );
  }
}

/** Why the text to replace will not do. */
export type EditMismatchKind = 'not-found' | 'not-unique';

/** The text to replace does not occur in the file, or more than once; nothing was changed. */
export class EditMismatchError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_EDIT_MISMATCH';
  declare readonly code: 'AGENT_TOOLS_EDIT_MISMATCH';
  declare readonly path: string;
  declare readonly kind: EditMismatchKind;

  constructor(path: string, kind: EditMismatchKind) {
    const detail =
      kind === 'not-found'
        ? 'the old text does not occur, compare spaces and line ends'
        : 'the old text occurs more than once, add lines around it';
    super(`${quote(path)} was not edited (${kind}): ${detail}`, { fields: { path, kind }, effect: 'none' });
  }
}

/** A search pattern is no regular expression, or one too large to run. */
export class SearchPatternError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_SEARCH_PATTERN';
  declare readonly code: 'AGENT_TOOLS_SEARCH_PATTERN';
  declare readonly pattern: string;

  constructor(pattern: string, detail: string, options: { readonly cause?: unknown } = {}) {
    super(`pattern ${quote(pattern)} cannot be used: ${detail}`, {
      cause: options.cause,
      fields: { pattern: pattern.slice(0, 1000) },
    });
  }
}

/** The command could not be started; nothing ran. */
export class ShellStartError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_SHELL_START';
  declare readonly code: 'AGENT_TOOLS_SHELL_START';

  constructor(detail: string, options: { readonly cause?: unknown } = {}) {
    super(`the command was not started: ${detail}`, { cause: options.cause, effect: 'none' });
  }
}

/**
 * Processes of a command are still there although they were killed. The right to change the workspace stays with them
 * until they are gone, so no checkpoint and no restore meets them.
 */
export class ProcessesLeftError extends HoldfastError {
  static override readonly code = 'AGENT_TOOLS_PROCESSES_LEFT';
  declare readonly code: 'AGENT_TOOLS_PROCESSES_LEFT';
  declare readonly pids: readonly number[];

  constructor(pids: readonly number[]) {
    super(`processes ${pids.join(', ')} of the command did not end after SIGKILL: end them from outside`, {
      fields: { pids },
      effect: 'unknown',
    });
  }
}

/** Every error class that this package defines. */
export type AgentToolsError =
  | WorkspacePathError
  | FileMissingError
  | UnexpectedNodeError
  | FileNotTextError
  | FileTooBigError
  | StaleFileError
  | EditMismatchError
  | SearchPatternError
  | ShellStartError
  | ProcessesLeftError;

/** Every code of this package. */
export type AgentToolsErrorCode = AgentToolsError['code'];
