import { encodePathText, throwIfAborted } from '@holdfast/base';
import { FileSystemError, type NodeKind } from '@holdfast/durable';
import { defineTool, type ToolDefinition } from '@holdfast/session';

import { FileMissingError, UnexpectedNodeError } from './errors.js';
import { inputSchema, integer, optional, text } from './input-schema.js';
import { locate } from './internal/place.js';
import { type LeftOut, type Met, walkBelow } from './internal/walk-place.js';
import { workbench } from './internal/workbench.js';
import type { WorkspaceToolsOptions } from './options.js';

export interface ListInput {
  /** Path text of a directory relative to the workspace; default the workspace itself. */
  readonly path?: string | undefined;
  /** Levels to go down; default 1, what is directly in the directory. */
  readonly depth?: number | undefined;
}

export type ListEntry = {
  /** Path text relative to the workspace. */
  readonly path: string;
  readonly kind: NodeKind;
  /** Bytes, of regular files. */
  readonly size?: number | undefined;
  /** Where a symlink points, as path text; it is not followed. */
  readonly target?: string | undefined;
};

export type ListOutput = {
  /** The directory with symlinks resolved. */
  readonly path: string;
  /** Parents first, names in byte order. */
  readonly entries: readonly ListEntry[];
  /** `false`: there are more entries than the limit. */
  readonly complete: boolean;
  /** Directories that were listed and not entered: by depth, by name, or unreadable. */
  readonly notEntered: number;
};

const schema = inputSchema<ListInput>({
  path: optional(
    text({ description: 'Directory relative to the workspace; default the workspace itself', minLength: 1 }),
  ),
  depth: optional(integer({ description: 'Levels to go down; default 1', minimum: 1, maximum: 64 })),
});

/**
 * Lists a directory.
 *
 * Calls throw FileMissingError, WorkspacePathError, UnexpectedNodeError.
 */
export function listTool(options: WorkspaceToolsOptions = {}): ToolDefinition<'list', ListInput, ListOutput> {
  return defineTool({
    name: 'list',
    description: 'Lists what is in a directory, with kinds and sizes.',
    input: schema,
    inputJsonSchema: schema.jsonSchema,
    requires: { workspace: 'read' },
    bind: (context) => {
      const bench = workbench('list', context, options);
      return async ({ path = '.', depth = 1 }, { signal }) => {
        throwIfAborted(signal);
        using place = locate(bench.fileSystem, bench.workspace.root, path);
        const { directory: dir, names, stat } = place;
        if (stat === undefined) throw new FileMissingError(place.path);
        if (dir === undefined) throw new UnexpectedNodeError(place.path, 'directory', stat.kind);
        const leftOut: LeftOut = { directories: 0 };
        const entries: ListEntry[] = [];
        let complete = true;
        for await (const met of walkBelow(bench, { dir, names }, depth, leftOut, signal)) {
          complete = entries.length < bench.limits.listEntries;
          if (!complete) break;
          entries.push(describe(met));
        }
        return { path: place.path, entries, complete, notEntered: leftOut.directories };
      };
    },
  });
}

function describe({ dir, name, path, stat }: Met): ListEntry {
  const { kind, size } = stat;
  if (kind === 'file') return { path, kind, size };
  if (kind !== 'symlink') return { path, kind };
  try {
    return { path, kind, target: encodePathText(dir.readlink(name)) };
  } catch (error) {
    if (FileSystemError.is(error)) return { path, kind };
    throw error;
  }
}
