import type { JsonValue } from '@holdfast/base';
import type { EventBody } from '@holdfast/journal';

import type { Session } from './session.js';
import type { AnyTool, BoundTool, ToolDefinition } from './tool.js';

/** The tools of a loop by name, bound to it. */
export type BoundTools<Tools extends readonly AnyTool[]> = {
  readonly [Tool in Tools[number] as Tool['name']]: Tool extends ToolDefinition<
    string,
    infer Input,
    infer Output
  >
    ? BoundTool<Input, Output>
    : never;
};

export interface StepOptions<Value> {
  /** What the journal keeps of the step; nothing by default. */
  readonly output?: ((value: Value) => JsonValue) | undefined;
}

/** What a turn gets from its session. */
export interface TurnContext<Input = JsonValue, Tools extends readonly AnyTool[] = readonly AnyTool[]> {
  readonly turn: string;
  readonly loop: string;
  readonly input: Input;
  /** Aborted when the turn is interrupted, or the session faults or shuts down. Pass it on to everything. */
  readonly signal: AbortSignal;
  readonly tools: BoundTools<Tools>;
  /** The session, without the right to checkpoint, restore or shut down. */
  readonly session: Session;
  /**
   * Runs one model call with what it leads to. Checkpoints and restores that must not meet a model call wait for it and
   * keep new ones out; the end of a step is a boundary of the snapshot policy.
   * @throws SessionFaultedError while a fault keeps new model calls from starting.
   */
  readonly step: <Value>(
    run: (signal: AbortSignal) => Promise<Value>,
    options?: StepOptions<Value>,
  ) => Promise<Value>;
  /** Runs one turn of another loop on the same workspace and waits for its end. */
  readonly delegate: (name: string, input: JsonValue) => Promise<TurnOutcome>;
  /** Appends an application event to the journal; its type begins with a lower-case letter. */
  readonly publish: <const Type extends string>(type: Type, body: EventBody<Type>) => Promise<void>;
}

/** A loop as an application defines it: a name, tools, and what one turn does. */
export interface LoopDefinition<
  Name extends string = string,
  Input = never,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
> {
  readonly name: Name;
  readonly tools?: Tools | undefined;
  /** Runs one turn; what it returns is the turn's output. */
  turn(context: TurnContext<Input, Tools>): Promise<JsonValue | undefined | void>;
}

/** Any loop, for lists of them. */
export type AnyLoop = LoopDefinition<string, never, readonly AnyTool[]>;

/** Returns the definition as it is; infers the types of its name, input and tools. */
export function defineLoop<
  const Name extends string,
  Input = JsonValue,
  const Tools extends readonly AnyTool[] = readonly [],
>(definition: LoopDefinition<Name, Input, Tools>): LoopDefinition<Name, Input, Tools> {
  return definition;
}

/** How a turn ended. */
export type TurnOutcome =
  | {
      readonly status: 'done';
      readonly turn: string;
      readonly loop: string;
      readonly output: JsonValue | undefined;
    }
  | { readonly status: 'failed'; readonly turn: string; readonly loop: string; readonly error: unknown }
  | { readonly status: 'interrupted'; readonly turn: string; readonly loop: string; readonly reason: string };

/** An accepted input. */
export interface Submission {
  readonly turn: string;
  readonly loop: string;
  /** Settles when the turn has ended and its boundary is done. Never rejects. */
  readonly outcome: Promise<TurnOutcome>;
}
