/**
 * Passes on what `source` yields. After a failure every further step rejects with the same error: a caller that goes on
 * asking never mistakes a failed iteration for a finished one.
 */
export function stickyIterator<T>(source: AsyncGenerator<T, void, undefined>): AsyncIterableIterator<T> {
  let failure: { readonly error: unknown } | undefined;
  return {
    async next(): Promise<IteratorResult<T, undefined>> {
      if (failure !== undefined) throw failure.error;
      try {
        const step = await source.next();
        return step.done === true ? { done: true, value: undefined } : { done: false, value: step.value };
      } catch (error) {
        failure = { error };
        throw error;
      }
    },
    async return(): Promise<IteratorResult<T, undefined>> {
      await source.return();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator](): AsyncIterableIterator<T> {
      return this;
    },
  };
}
