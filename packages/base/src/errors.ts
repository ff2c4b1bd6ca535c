/** A value that JSON can carry without loss. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** The facts an error carries: JSON-safe, never credentials, never whole payloads. */
export type ErrorFields = Readonly<Record<string, JsonValue | undefined>>;

/** What a failed mutating call may have done: nothing, or nobody knows. */
export type Effect = 'none' | 'unknown';

export interface HoldfastErrorOptions {
  readonly cause?: unknown;
  /** Only on failures of mutating calls. */
  readonly effect?: Effect | undefined;
  /** Only on backend failures: decided where the knowledge is, read by retry layers only. */
  readonly retryable?: boolean | undefined;
  /** Assigned to the error as readonly properties and shown by `toJSON`. */
  readonly fields?: ErrorFields | undefined;
}

/** The JSON form of an error: code, message, fields and the chain of causes by code. */
export interface ErrorJson {
  readonly [key: string]: JsonValue | undefined;
  readonly code: string;
  readonly message: string;
  readonly causes: readonly string[];
}

// A registered symbol, not a private one: two copies of this package in one process recognise each other's errors.
const brand: unique symbol = Symbol.for('@holdfast/base/error') as never;

/** A class whose instances `findCause` and `is` can recognise. */
export interface ErrorClass<T> {
  readonly prototype: T;
  is(value: unknown): boolean;
}

/**
 * Base of every error of Holdfast.
 *
 * A subclass states one fact. It declares `static override readonly code` and its fields with `declare`, and passes the
 * fields to `super`, which assigns them. Match by `Class.is(error)` or `error.code`; never by message, and not by
 * `instanceof`, which fails across duplicate installs.
 */
export abstract class HoldfastError extends Error {
  /** The stable code of the class; empty on abstract families. */
  static readonly code: string = '';

  declare readonly code: string;
  declare readonly effect: Effect | undefined;
  declare readonly retryable: boolean | undefined;

  constructor(message: string, options: HoldfastErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const fields = { ...options.fields };
    for (const [key, value] of Object.entries(fields)) {
      Object.defineProperty(this, key, { value, enumerable: true, writable: false, configurable: true });
    }
    Object.defineProperties(this, {
      name: { value: new.target.name, enumerable: false, writable: true, configurable: true },
      code: { value: new.target.code, enumerable: true, writable: false, configurable: true },
      [brand]: { value: fields, enumerable: false, writable: false, configurable: false },
    });
    if (options.effect !== undefined) {
      Object.defineProperty(this, 'effect', { value: options.effect, enumerable: true, configurable: true });
    }
    if (options.retryable !== undefined) {
      Object.defineProperty(this, 'retryable', {
        value: options.retryable,
        enumerable: true,
        configurable: true,
      });
    }
  }

  /** Tells whether `value` is an error of this class, from this or any other installed copy of the package. */
  static is<T>(this: { readonly prototype: T; readonly code: string }, value: unknown): value is T {
    if (!isHoldfastError(value)) return false;
    return this.code === '' ? true : value.code === this.code;
  }

  /** Shows code, message, fields and the codes of the causes; safe to log and to send. */
  toJSON(): ErrorJson {
    const fields = (this as unknown as Record<symbol, ErrorFields>)[brand];
    return {
      code: this.code,
      message: this.message,
      ...fields,
      ...(this.effect === undefined ? {} : { effect: this.effect }),
      ...(this.retryable === undefined ? {} : { retryable: this.retryable }),
      causes: causeCodes(this.cause),
    };
  }
}

/** Tells whether `value` is an error of any package of Holdfast. */
export function isHoldfastError(value: unknown): value is HoldfastError {
  return typeof value === 'object' && value !== null && brand in value;
}

/**
 * Finds the first error of `Class` in `error`, its causes and the members of aggregate errors, depth first.
 * Returns `undefined` when there is none. Cycles are walked once.
 */
export function findCause<T>(error: unknown, Class: ErrorClass<T>): T | undefined {
  for (const candidate of walkCauses(error)) {
    if (Class.is(candidate)) return candidate as T;
  }
  return undefined;
}

function* walkCauses(error: unknown): Generator<unknown> {
  const seen = new Set<unknown>();
  const stack: unknown[] = [error];
  while (stack.length > 0) {
    const current = stack.pop();
    if (typeof current !== 'object' || current === null || seen.has(current)) continue;
    seen.add(current);
    yield current;
    const { cause, errors } = current as { cause?: unknown; errors?: unknown };
    const next = Array.isArray(errors) ? [...(errors as unknown[])] : [];
    if (cause !== undefined) next.push(cause);
    stack.push(...next.reverse());
  }
}

function causeCodes(cause: unknown): string[] {
  const codes: string[] = [];
  for (const candidate of walkCauses(cause)) {
    const { code, name } = candidate as { code?: unknown; name?: unknown };
    codes.push(typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown');
  }
  return codes;
}

/** Quotes caller-supplied text for an error message: JSON quoting, cut at 200 characters, control characters escaped. */
export function quote(text: string): string {
  const cut = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  // JSON leaves DEL, C1 controls and bidirectional overrides as they are; a terminal does not.
  return JSON.stringify(cut).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Text of any value, for a message. What comes from outside may have a `toString` that is no function or fails: an object
 * parsed from JSON may, and `String` throws for it.
 */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return typeof value === 'object' ? 'an object without text' : `a ${typeof value} without text`;
  }
}
