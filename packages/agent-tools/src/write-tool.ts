import { defineTool, type ToolDefinition } from '@holdfast/session';

import { inputSchema, text } from './input-schema.js';
import { changeFile } from './internal/change-file.js';
import { workbench } from './internal/workbench.js';
import type { WorkspaceToolsOptions } from './options.js';

export interface WriteInput {
  /** Path text relative to the workspace. */
  readonly path: string;
  /** All that the file is to hold. */
  readonly content: string;
}

export type WriteOutput = {
  /** The path with symlinks resolved. */
  readonly path: string;
  readonly created: boolean;
  readonly bytes: number;
};

const schema = inputSchema<WriteInput>({
  path: text({ description: 'Path of the file, relative to the workspace', minLength: 1 }),
  content: text({ description: 'Everything that the file is to hold' }),
});

/**
 * Creates a file, with the directories it needs, or replaces what one holds. Replacing wants a complete `read` by the
 * same loop that still holds; creating never replaces anything.
 *
 * Calls throw StaleFileError, WorkspacePathError, UnexpectedNodeError, FileTooBigError.
 */
export function writeTool(
  options: WorkspaceToolsOptions = {},
): ToolDefinition<'write', WriteInput, WriteOutput> {
  return defineTool({
    name: 'write',
    description:
      'Creates a text file, or replaces everything in one that was read completely before. Missing directories are made.',
    input: schema,
    inputJsonSchema: schema.jsonSchema,
    requires: { workspace: true },
    bind: (context) => {
      const bench = workbench('write', context, options);
      return async ({ path, content }, call) =>
        await changeFile(bench, path, call, () => Buffer.from(content, 'utf8'));
    },
  });
}
