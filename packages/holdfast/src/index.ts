// One install that works: the embedded stack, and what an application needs to define a rig over it.
export { type WorkspaceTools, workspaceTools } from '@holdfast/agent-tools';
export {
  defineRig,
  exclusiveWorkspace,
  type OpenedSession,
  type Rig,
  type RigFragment,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacement,
} from '@holdfast/rig';
export {
  defineLoop,
  defineTool,
  type Session,
  type SessionController,
  type TurnContext,
} from '@holdfast/session';
export { type ContentKey, parseRef, type Ref, tryParseRef } from '@holdfast/workspacestore';
export { type Local, type OpenLocalOptions, openLocal } from './open-local.js';
