/** One call of a client, as it was recorded: when it began and ended by one common counter, and what came of it. */
export interface HistoryCall<Input, Output> {
  readonly client: string;
  readonly input: Input;
  /** Position of the beginning in the history. */
  readonly called: number;
  /** Position of the end; `undefined` when the outcome is unknown: the call may take effect at any time, or never. */
  readonly returned: number | undefined;
  /** What the client was told; of no meaning without `returned`. */
  readonly output?: Output | undefined;
}

/** What the thing under test must behave like, one call after the other. */
export interface SequentialModel<State, Input, Output> {
  readonly initial: State;
  /**
   * The state after a call that answered `output`, or `undefined` when no such answer is right here. For a call whose
   * outcome is unknown `output` is `undefined`: give the state after it took effect, or `undefined` where it cannot.
   */
  step(state: State, input: Input, output: Output | undefined): State | undefined;
  /** Equal text for equal states, so that no state is looked at twice. Default: JSON. */
  key?(state: State): string;
}

/** What a check of a history found. */
export interface HistoryVerdict<Input, Output> {
  readonly linearizable: boolean;
  /** The longest order that explains calls: all of the finished ones when the history is linearizable. */
  readonly order: readonly HistoryCall<Input, Output>[];
  /** Finished calls that no order explains after the longest one. */
  readonly unexplained: readonly HistoryCall<Input, Output>[];
}

/**
 * Tells whether there is one order of the calls of a history, in which each takes effect between its beginning and its
 * end, that a sequential model explains (linearizability). Takes time exponential in the number of calls that overlap;
 * meant for histories of at most a few dozen.
 */
export function checkHistory<State, Input, Output>(
  model: SequentialModel<State, Input, Output>,
  calls: readonly HistoryCall<Input, Output>[],
): HistoryVerdict<Input, Output> {
  const finished = calls.filter(({ returned }) => returned !== undefined);
  const keyOf = (state: State): string => model.key?.(state) ?? JSON.stringify(state);
  const seen = new Set<string>();
  let longest: readonly number[] = [];
  let explained = -1;

  const explore = (state: State, done: ReadonlySet<number>, order: readonly number[]): boolean => {
    const open = calls.flatMap((call, index) => (done.has(index) ? [] : [{ call, index }]));
    const unfinished = open.filter(({ call }) => call.returned !== undefined);
    if (finished.length - unfinished.length > explained) {
      explained = finished.length - unfinished.length;
      longest = order;
    }
    if (unfinished.length === 0) return true;
    const key = `${open.map(({ index }) => index).join()}|${keyOf(state)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    // Whoever began after another one's end comes after it.
    const firstEnd = Math.min(...unfinished.map(({ call }) => call.returned as number));
    return open.some(({ call, index }) => {
      if (call.called > firstEnd) return false;
      const next = model.step(state, call.input, call.returned === undefined ? undefined : call.output);
      return next !== undefined && explore(next, new Set([...done, index]), [...order, index]);
    });
  };

  const linearizable = explore(model.initial, new Set(), []);
  const inOrder = new Set(longest);
  return {
    linearizable,
    order: longest.map((index) => calls[index] as HistoryCall<Input, Output>),
    unexplained: calls.filter((call, index) => call.returned !== undefined && !inOrder.has(index)),
  };
}

type Open<T> = { -readonly [K in keyof T]: T[K] };

/** Records calls with positions from one counter, for {@link checkHistory}. */
export class HistoryRecorder<Input, Output> {
  readonly #calls: Open<HistoryCall<Input, Output>>[] = [];
  #position = 0;

  /** Every call so far, in the order in which they began. */
  get calls(): readonly HistoryCall<Input, Output>[] {
    return this.#calls;
  }

  /** Makes a call; `work` gives what the client was told, or `undefined` when it does not know what came of it. */
  async record(
    client: string,
    input: Input,
    work: () => Promise<Output | undefined>,
  ): Promise<Output | undefined> {
    const call: Open<HistoryCall<Input, Output>> = {
      client,
      input,
      called: (this.#position += 1),
      returned: undefined,
    };
    this.#calls.push(call);
    const output = await work();
    if (output !== undefined) {
      call.output = output;
      call.returned = this.#position += 1;
    }
    return output;
  }
}
