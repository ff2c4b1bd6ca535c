import { editTool } from './edit-tool.js';
import { listTool } from './list-tool.js';
import type { WorkspaceToolsOptions } from './options.js';
import { readTool } from './read-tool.js';
import { searchTool } from './search-tool.js';
import { shellTool } from './shell-tool.js';
import { writeTool } from './write-tool.js';

/** The types of {@link workspaceTools}. */
export type WorkspaceTools = readonly [
  ReturnType<typeof readTool>,
  ReturnType<typeof writeTool>,
  ReturnType<typeof editTool>,
  ReturnType<typeof listTool>,
  ReturnType<typeof searchTool>,
  ReturnType<typeof shellTool>,
];

/** Every tool, for the `tools` of a loop: `read`, `write`, `edit`, `list`, `search` and `shell`. */
export function workspaceTools(options: WorkspaceToolsOptions = {}): WorkspaceTools {
  return [
    readTool(options),
    writeTool(options),
    editTool(options),
    listTool(options),
    searchTool(options),
    shellTool(options),
  ];
}
