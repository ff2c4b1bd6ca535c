import { HoldfastError, quote, type Random, textOf } from '@holdfast/base';

/** A session id breaks the grammar; nothing was read or written. */
export class InvalidSessionIdError extends HoldfastError {
  static override readonly code = 'JOURNAL_INVALID_SESSION_ID';
  declare readonly code: 'JOURNAL_INVALID_SESSION_ID';
  declare readonly sessionId: string;

  constructor(id: unknown) {
    const shown = textOf(id);
    super(
      `session id ${quote(shown)} is not 8 to 64 characters of a-z, 0-9 and "-" that begin with a letter or digit`,
      { fields: { sessionId: shown.slice(0, 200) }, effect: 'none' },
    );
  }
}

const grammar = /^[a-z0-9][a-z0-9-]{7,63}$/;

/** Tells whether `id` is a legal session id. */
export function isSessionId(id: unknown): id is string {
  return typeof id === 'string' && grammar.test(id);
}

/**
 * Checks a session id and returns it.
 * @throws InvalidSessionIdError when it is not 8 to 64 characters of `a-z`, `0-9`, `-` beginning with a letter or digit.
 */
export function parseSessionId(id: unknown): string {
  if (!isSessionId(id)) throw new InvalidSessionIdError(id);
  return id;
}

// Crockford's alphabet in lower case: digits before letters, so that text order is number order.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Makes a session id of 26 characters that sorts by creation time (milliseconds), then at random (80 bits). */
export function newSessionId(now: number, random: Random): string {
  let time = Math.max(0, Math.floor(now));
  let text = '';
  for (let digit = 0; digit < 10; digit += 1) {
    text = alphabet.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  for (const byte of random.bytes(16)) text += alphabet.charAt(byte & 31);
  return text;
}
