import { sha256Hex, throwIfAborted } from '@holdfast/base';
import { defineTool, type ToolDefinition } from '@holdfast/session';

import { FileMissingError, FileNotTextError } from './errors.js';
import { inputSchema, integer, optional, text } from './input-schema.js';
import { openRegularFile } from './internal/live-file.js';
import { locate } from './internal/place.js';
import { readTextPart } from './internal/text-part.js';
import { workbench } from './internal/workbench.js';
import type { WorkspaceToolsOptions } from './options.js';

export interface ReadInput {
  /** Path text relative to the workspace. */
  readonly path: string;
  /** First line to read, from 1. */
  readonly line?: number | undefined;
  /** Lines to read; as many as fit by default. */
  readonly lines?: number | undefined;
}

export type ReadOutput = {
  /** The path with symlinks resolved. */
  readonly path: string;
  readonly content: string;
  /** Line that `content` begins with. */
  readonly line: number;
  /** Lines in `content`. */
  readonly lines: number;
  /** `content` is the whole file, so that the loop may change it now. */
  readonly complete: boolean;
  /** The file goes on after `content`. */
  readonly more: boolean;
  /** `content` ends inside a line that is too long. */
  readonly lineCut: boolean;
};

const manyLines = 1_000_000_000;

const schema = inputSchema<ReadInput>({
  path: text({ description: 'Path of the file, relative to the workspace', minLength: 1 }),
  line: optional(
    integer({ description: 'First line to read, from 1; default 1', minimum: 1, maximum: manyLines }),
  ),
  lines: optional(
    integer({ description: 'Number of lines; default as many as fit', minimum: 1, maximum: manyLines }),
  ),
});

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a text file, whole or in part. A complete read lets the loop change the file as long as it stays as it is; a
 * read that finds nothing is remembered too.
 *
 * Calls throw FileMissingError, FileNotTextError, WorkspacePathError, UnexpectedNodeError.
 */
export function readTool(options: WorkspaceToolsOptions = {}): ToolDefinition<'read', ReadInput, ReadOutput> {
  return defineTool({
    name: 'read',
    description: 'Reads a text file, whole or some of its lines. Read a file completely before changing it.',
    input: schema,
    inputJsonSchema: schema.jsonSchema,
    requires: { workspace: 'read' },
    bind: (context) => {
      const bench = workbench('read', context, options);
      return async ({ path, line = 1, lines = manyLines }, { signal }) => {
        throwIfAborted(signal);
        const { observations, root } = bench.workspace;
        using place = locate(bench.fileSystem, root, path);
        using file = openRegularFile(place);
        if (file === undefined) {
          observations.sawNothing(place.path);
          throw new FileMissingError(place.path);
        }
        const range = { firstLine: line, maxLines: lines, maxBytes: bench.limits.readBytes };
        const part = await readTextPart(file, range, signal);
        const content = decode(part.bytes, place.path);
        const complete = line === 1 && part.ended;
        if (complete) observations.sawContent(place.path, sha256Hex(part.bytes));
        return {
          path: place.path,
          content,
          line,
          lines: part.lines,
          complete,
          more: !part.ended,
          lineCut: part.cut,
        };
      };
    },
  });
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new FileNotTextError(path, { cause: error });
  }
}
