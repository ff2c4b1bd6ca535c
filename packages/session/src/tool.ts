import type { JsonValue } from '@holdfast/base';
import type { CanonicalPath, Coordinator } from '@holdfast/coordinator';

import type { Observations } from './observations.js';
import type { StandardSchema } from './standard-schema.js';

/** What a tool needs from its session. */
export interface ToolNeeds {
  /** `true`: reads and changes the workspace; `'read'`: reads it only. */
  readonly workspace?: true | 'read' | undefined;
  /** Starts processes; they must hold a lifetime of the coordinator while they run. */
  readonly processes?: true | undefined;
}

/** The workspace as a tool sees it. */
export interface ToolWorkspace {
  /** The live directory. */
  readonly root: string;
  /** The same as a scope for the coordinator. */
  readonly scope: CanonicalPath;
  /** Every change of the workspace happens under one of its permits. */
  readonly coordinator: Coordinator;
  /** What this loop has seen of the files. */
  readonly observations: Observations;
}

/** What a tool is bound to: one loop of one session. */
export interface ToolContext {
  readonly sessionId: string;
  /** Id of the loop. */
  readonly loop: string;
  /** Present when the rig has a placement. */
  readonly workspace: ToolWorkspace | undefined;
}

export interface ToolCallOptions {
  /** Aborted when the turn is interrupted, the session faults or shuts down. */
  readonly signal?: AbortSignal | undefined;
  /** The model's id of the call, for permits and diagnosis. */
  readonly callId?: string | undefined;
}

/** Runs a bound tool. */
export type ToolCall<Input, Output> = (input: Input, options: ToolCallOptions) => Promise<Output>;

/** A tool as an application defines it. Inert until a loop of a session binds it. */
export interface ToolDefinition<Name extends string = string, Input = never, Output = unknown> {
  readonly name: Name;
  /** For the model. */
  readonly description?: string | undefined;
  /** Any Standard Schema; input is checked with it before `bind`'s function runs. */
  readonly input?: StandardSchema<Input> | undefined;
  /** The input as JSON Schema, for models that want one. */
  readonly inputJsonSchema?: JsonValue | undefined;
  readonly requires?: ToolNeeds | undefined;
  /** Called once for each loop of each session. */
  bind(context: ToolContext): ToolCall<Input, Output>;
}

/** A tool that a loop can call. */
export interface BoundTool<Input = never, Output = unknown> {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputJsonSchema: JsonValue | undefined;
  /**
   * Checks the input and runs the tool.
   * @throws ToolCallError when the input does not fit; SessionFaultedError, SessionClosedError.
   */
  call(input: Input, options?: ToolCallOptions): Promise<Output>;
}

/** Any tool, for lists of them. */
export interface AnyTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input?: StandardSchema<unknown> | undefined;
  readonly inputJsonSchema?: JsonValue | undefined;
  readonly requires?: ToolNeeds | undefined;
  bind(context: ToolContext): ToolCall<never, unknown>;
}

/** Returns the definition as it is; infers the types of its name, input and output. */
export function defineTool<const Name extends string, Input, Output>(
  definition: ToolDefinition<Name, Input, Output>,
): ToolDefinition<Name, Input, Output> {
  return definition;
}
