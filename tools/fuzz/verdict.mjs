import { isHoldfastError } from '@holdfast/base';

/**
 * What a decoder made of an input: `undefined` when it accepted it or refused it as it should, else what is wrong. A
 * refusal is an error of ours with a code, and nowhere in its causes is a mistake of the program: a `TypeError` of the
 * engine, a failed assertion, an overflow.
 * @param {unknown} error
 * @param {readonly string[]} [allowed] Names of plain errors that this decoder documents.
 * @returns {string | undefined}
 */
export function untyped(error, allowed = []) {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  if (!isHoldfastError(error) && !allowed.includes(error.name))
    return `${error.name} without a code: ${error.message}`;
  return mistakeIn(error.cause);
}

/** @param {unknown} cause @returns {string | undefined} */
function mistakeIn(cause) {
  if (cause === undefined) return undefined;
  if (cause instanceof AggregateError)
    return cause.errors.map(mistakeIn).find((found) => found !== undefined);
  if (!(cause instanceof Error)) return undefined;
  // Errors of Node carry a code; those of JSON.parse are what an input deserves.
  const coded = 'code' in cause && typeof cause.code === 'string';
  const deserved = coded || cause instanceof SyntaxError || cause instanceof URIError;
  const mistake = ['TypeError', 'RangeError', 'ReferenceError', 'AssertionError'].includes(cause.name);
  if (mistake && !deserved) return `hidden ${cause.name}: ${cause.message}`;
  return mistakeIn(cause.cause);
}
