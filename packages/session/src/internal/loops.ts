import { type JsonValue, onAbort, randomHex } from '@holdfast/base';

import { SessionPointError } from '../errors.js';
import type { LoopState } from '../lifecycle.js';
import type { AnyLoop, TurnOutcome } from '../loop.js';
import { createObservations } from '../observations.js';
import type { ToolContext } from '../tool.js';
import type { SessionWorkspace } from '../workspace.js';
import { bindTools } from './bind-tools.js';
import { type LoopHost, LoopRuntime } from './loop-runtime.js';

export type LoopsHost = Omit<LoopHost, 'delegate'>;

/** The loops of a session: the primers it began with and the delegates that loops started. */
export class Loops {
  readonly #sessionId: string;
  readonly #definitions: ReadonlyMap<string, AnyLoop>;
  readonly #workspace: SessionWorkspace | undefined;
  readonly #host: LoopHost;
  readonly #running = new Map<string, LoopRuntime>();

  constructor(
    sessionId: string,
    definitions: readonly AnyLoop[],
    workspace: SessionWorkspace | undefined,
    host: LoopsHost,
  ) {
    this.#sessionId = sessionId;
    this.#definitions = new Map(definitions.map((definition) => [definition.name, definition]));
    this.#workspace = workspace;
    this.#host = {
      ...host,
      delegate: async (parent, name, input, signal) => await this.#delegate(parent, name, input, signal),
    };
  }

  get states(): readonly LoopState[] {
    return [...this.#running.values()].map((loop) => loop.state);
  }

  /** Starts a primer; its id is its name. */
  async start(name: string): Promise<void> {
    await this.#start(name, name, undefined);
  }

  /** @throws SessionPointError (`loop`) when there is none of this id. */
  find(id: string | undefined): LoopRuntime {
    const loop = id === undefined ? [...this.#running.values()][0] : this.#running.get(id);
    if (loop !== undefined) return loop;
    const known = [...this.#running.keys()].join(', ');
    throw new SessionPointError(
      this.#sessionId,
      'loop',
      id ?? 'default',
      `running loops: ${known || 'none'}`,
    );
  }

  async interrupt(id: string | undefined, reason: string): Promise<void> {
    const loops = id === undefined ? [...this.#running.values()] : [this.find(id)];
    await Promise.all(loops.map((loop) => loop.interrupt(reason)));
  }

  async stop(reason: string): Promise<void> {
    await Promise.all([...this.#running.values()].map((loop) => loop.stop(reason)));
  }

  forgetObservations(): void {
    for (const loop of this.#running.values()) loop.observations.forgetAll();
  }

  async #start(id: string, name: string, parent: string | undefined): Promise<LoopRuntime> {
    const definition = this.#definitions.get(name);
    if (definition === undefined) {
      const known = [...this.#definitions.keys()].join(', ');
      throw new SessionPointError(this.#sessionId, 'loop', name, `defined loops: ${known || 'none'}`);
    }
    const observations = createObservations();
    const workspace = this.#workspace;
    const context: ToolContext = {
      sessionId: this.#sessionId,
      loop: id,
      workspace:
        workspace === undefined
          ? undefined
          : {
              root: workspace.root,
              scope: workspace.scope,
              coordinator: workspace.coordinator,
              observations,
            },
    };
    const tools = bindTools(definition.tools ?? [], context, () => {
      this.#host.admit();
    });
    const loop = new LoopRuntime(id, definition, this.#host, observations, tools);
    const body = { loop: id, name, ...(parent === undefined ? {} : { parent }) };
    await this.#host.log.append({ type: 'LoopStarted', body, loop: id });
    this.#running.set(id, loop);
    return loop;
  }

  /** One turn of a fresh loop, which ends with it. The parent's interruption interrupts it too. */
  async #delegate(
    parent: LoopRuntime,
    name: string,
    input: JsonValue,
    signal: AbortSignal,
  ): Promise<TurnOutcome> {
    const loop = await this.#start(`${name}-${randomHex(this.#host.random, 4)}`, name, parent.id);
    try {
      const { outcome } = loop.submit(input);
      let interrupted: Promise<void> | undefined;
      using _abort = onAbort(signal, () => {
        interrupted = loop.interrupt('its parent was interrupted');
      });
      const ended = await outcome;
      await interrupted;
      return ended;
    } finally {
      this.#running.delete(loop.id);
    }
  }
}
