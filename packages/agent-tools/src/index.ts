export { type EditInput, type EditOutput, editTool } from './edit-tool.js';
export {
  type AgentToolsError,
  type AgentToolsErrorCode,
  EditMismatchError,
  type EditMismatchKind,
  FileMissingError,
  FileNotTextError,
  FileTooBigError,
  ProcessesLeftError,
  SearchPatternError,
  ShellStartError,
  StaleFileError,
  type StaleKind,
  UnexpectedNodeError,
  WorkspacePathError,
  type WorkspacePathRule,
} from './errors.js';
export type { InputSchema, JsonSchemaOptions } from './input-schema.js';
export type { LineMatch } from './internal/line-matcher.js';
export type { SearchMatch, SearchOutput, SearchStop } from './internal/search-run.js';
export { type ListEntry, type ListInput, type ListOutput, listTool } from './list-tool.js';
export {
  defaultToolLimits,
  type ShellOptions,
  type ToolLimits,
  type WorkspaceToolsOptions,
} from './options.js';
export { type ReadInput, type ReadOutput, readTool } from './read-tool.js';
export { type SearchInput, searchTool } from './search-tool.js';
export { type ShellInput, type ShellOutput, shellTool } from './shell-tool.js';
export { type WorkspaceTools, workspaceTools } from './workspace-tools.js';
export { type WriteInput, type WriteOutput, writeTool } from './write-tool.js';
