import type { JsonValue } from '@holdfast/base';

import type { EventRule } from '../session-errors.js';

/** What a value breaks, and where. */
export interface SchemaProblem {
  readonly rule: EventRule;
  readonly path: string;
  readonly detail: string;
}

/** Checks one value; `undefined` says that it fits. */
export type Schema = (value: JsonValue | undefined, path: string) => SchemaProblem | undefined;

export type JsonObject = { readonly [key: string]: JsonValue | undefined };

const refGrammar = /^v1:sha256:[0-9a-f]{64}$/;

/** Tells whether `value` is a snapshot ref as journals hold them. */
export function isRefText(value: unknown): value is string {
  return typeof value === 'string' && refGrammar.test(value);
}

export const anyJson: Schema = (value, path) => (value === undefined ? missing(path) : undefined);

export const refText: Schema = (value, path) => {
  if (value === undefined) return missing(path);
  if (isRefText(value)) return undefined;
  return { rule: 'ref', path, detail: 'a ref is "v1:sha256:" and 64 lower-case hex digits' };
};

export const text: Schema = (value, path) => {
  if (value === undefined) return missing(path);
  if (typeof value !== 'string') return wrongType(path, 'text');
  return value.length > 0 ? undefined : { rule: 'field-value', path, detail: 'must not be empty' };
};

/** Text that may be empty: what people wrote. */
export const freeText: Schema = (value, path) => {
  if (value === undefined) return missing(path);
  return typeof value === 'string' ? undefined : wrongType(path, 'text');
};

export const flag: Schema = (value, path) => {
  if (value === undefined) return missing(path);
  return typeof value === 'boolean' ? undefined : wrongType(path, 'true or false');
};

/** A whole number of at least `least`. */
export function count(least: number = 0): Schema {
  return (value, path) => {
    if (value === undefined) return missing(path);
    if (typeof value !== 'number') return wrongType(path, 'a number');
    if (Number.isSafeInteger(value) && value >= least) return undefined;
    return { rule: 'field-value', path, detail: `must be a whole number of at least ${String(least)}` };
  };
}

/** A number of at least 0, whole or not: a duration. */
export const quantity: Schema = (value, path) => {
  if (value === undefined) return missing(path);
  if (typeof value !== 'number') return wrongType(path, 'a number');
  return value >= 0 ? undefined : { rule: 'field-value', path, detail: 'must be at least 0' };
};

export function oneOf(allowed: readonly string[]): Schema {
  return (value, path) => {
    if (value === undefined) return missing(path);
    if (typeof value === 'string' && allowed.includes(value)) return undefined;
    return { rule: 'field-value', path, detail: `must be one of ${allowed.join(', ')}` };
  };
}

export function optional(schema: Schema): Schema {
  return (value, path) => (value === undefined ? undefined : schema(value, path));
}

export function nullable(schema: Schema): Schema {
  return (value, path) => (value === null ? undefined : schema(value, path));
}

export function listOf(schema: Schema): Schema {
  return (value, path) => {
    if (value === undefined) return missing(path);
    if (!Array.isArray(value)) return wrongType(path, 'a list');
    for (const [index, member] of (value as readonly JsonValue[]).entries()) {
      const problem = schema(member, `${path}[${String(index)}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

/** An object with at least these members; others are allowed and survive. `rule` looks at the object as a whole. */
export function object(
  fields: Readonly<Record<string, Schema>>,
  rule?: (value: JsonObject, path: string) => SchemaProblem | undefined,
): Schema {
  const entries = Object.entries(fields);
  return (value, path) => {
    if (value === undefined) return missing(path);
    if (!isObject(value)) return wrongType(path, 'an object');
    for (const [key, schema] of entries) {
      const problem = schema(Object.hasOwn(value, key) ? value[key] : undefined, `${path}.${key}`);
      if (problem !== undefined) return problem;
    }
    return rule?.(value, path);
  };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function missing(path: string): SchemaProblem {
  return { rule: 'field-missing', path, detail: 'is missing' };
}

function wrongType(path: string, expected: string): SchemaProblem {
  return { rule: 'field-type', path, detail: `must be ${expected}` };
}
