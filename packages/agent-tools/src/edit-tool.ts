import { defineTool, type ToolDefinition } from '@holdfast/session';

import { EditMismatchError, FileMissingError } from './errors.js';
import { inputSchema, text } from './input-schema.js';
import { changeFile } from './internal/change-file.js';
import { workbench } from './internal/workbench.js';
import type { WorkspaceToolsOptions } from './options.js';

export interface EditInput {
  /** Path text relative to the workspace. */
  readonly path: string;
  /** Text that occurs exactly once, byte for byte. */
  readonly oldText: string;
  /** What takes its place. */
  readonly newText: string;
}

export type EditOutput = {
  /** The path with symlinks resolved. */
  readonly path: string;
  /** Line of the replacement, from 1. */
  readonly line: number;
  readonly bytes: number;
};

const schema = inputSchema<EditInput>({
  path: text({ description: 'Path of the file, relative to the workspace', minLength: 1 }),
  oldText: text({
    description: 'Text to replace, exactly as in the file; it must occur exactly once',
    minLength: 1,
  }),
  newText: text({ description: 'Text to put in its place' }),
});

/**
 * Replaces one piece of a file. Wants a complete `read` by the same loop that still holds.
 *
 * Calls throw EditMismatchError, StaleFileError, FileMissingError, WorkspacePathError, UnexpectedNodeError,
 * FileTooBigError.
 */
export function editTool(options: WorkspaceToolsOptions = {}): ToolDefinition<'edit', EditInput, EditOutput> {
  return defineTool({
    name: 'edit',
    description: 'Replaces one exact, unique piece of text in a file that was read completely before.',
    input: schema,
    inputJsonSchema: schema.jsonSchema,
    requires: { workspace: true },
    bind: (context) => {
      const bench = workbench('edit', context, options);
      return async ({ path, oldText, newText }, call) => {
        let line = 1;
        const changed = await changeFile(bench, path, call, (current, place) => {
          if (current === undefined) throw new FileMissingError(place.path);
          const bytes = Buffer.from(current.bytes);
          const at = findUnique(bytes, Buffer.from(oldText, 'utf8'), place.path);
          line += countLines(bytes.subarray(0, at));
          const rest = bytes.subarray(at + Buffer.byteLength(oldText, 'utf8'));
          return Buffer.concat([bytes.subarray(0, at), Buffer.from(newText, 'utf8'), rest]);
        });
        return { path: changed.path, line, bytes: changed.bytes };
      };
    },
  });
}

/** Bytes find what text would: no character of UTF-8 begins inside another. Overlapping occurrences count as two. */
function findUnique(bytes: Buffer, wanted: Buffer, path: string): number {
  const first = bytes.indexOf(wanted);
  if (first === -1) throw new EditMismatchError(path, 'not-found');
  if (bytes.indexOf(wanted, first + 1) !== -1) throw new EditMismatchError(path, 'not-unique');
  return first;
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}
