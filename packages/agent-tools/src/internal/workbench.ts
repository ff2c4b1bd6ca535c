import { type Clock, type Random, systemClock, systemRandom } from '@holdfast/base';
import { type FileSystem, nodeFileSystem } from '@holdfast/durable';
import { processIdentity } from '@holdfast/lease/fs';
import {
  type ToolCallOptions,
  type ToolContext,
  type ToolWorkspace,
  WorkspaceNotConfiguredError,
} from '@holdfast/session';

import {
  defaultToolLimits,
  type ShellOptions,
  type ToolLimits,
  type WorkspaceToolsOptions,
} from '../options.js';
import { operationOf } from './process-operation.js';

/** What a tool works with once it is bound to a loop. */
export interface Workbench {
  readonly tool: string;
  readonly loop: string;
  readonly workspace: ToolWorkspace;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: ToolLimits;
  readonly shell: ShellOptions;
  readonly skip: ReadonlySet<string>;
  readonly fileMode: number;
  /** Part of the names of files that are being written, so that they can be told from the workspace's own. */
  readonly operation: string;
}

// One for the process: a listing must not show what another loop is writing.
let processOperation: string | undefined;

/** @throws WorkspaceNotConfiguredError when the session has no workspace. */
export function workbench(tool: string, context: ToolContext, options: WorkspaceToolsOptions): Workbench {
  const { workspace } = context;
  if (workspace === undefined) throw new WorkspaceNotConfiguredError(context.sessionId, tool);
  processOperation ??= operationOf(processIdentity(), systemRandom);
  return {
    tool,
    loop: context.loop,
    workspace,
    fileSystem: options.fileSystem ?? nodeFileSystem(),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    limits: { ...defaultToolLimits, ...withoutUndefined(options.limits ?? {}) },
    shell: options.shell ?? {},
    skip: new Set(options.skip ?? ['.git', 'node_modules']),
    fileMode: options.fileMode ?? 0o644,
    operation: processOperation,
  };
}

/** Who asks for a permit. */
export function holderOf(
  bench: Workbench,
  call: ToolCallOptions,
): { readonly loop: string; readonly toolCall: string } {
  return { loop: bench.loop, toolCall: call.callId ?? bench.tool };
}

function withoutUndefined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Value;
}
