import type { JsonValue } from '@holdfast/base';
import type { StandardResult, StandardSchema } from '@holdfast/session';

/** What an AI SDK asks a schema for. */
export interface JsonSchemaOptions {
  /** `draft-2020-12`, `draft-07` or `openapi-3.0`; these schemas are the same in all of them. */
  readonly target: string;
}

/**
 * A Standard Schema that is a Standard JSON Schema too (standardschema.dev, both version 1), so that whatever takes
 * either can take the input of a tool as it is.
 */
export interface InputSchema<Input> extends StandardSchema<Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Input>;
    /** Never present at run time: carries the types, as the specification has it. */
    readonly types?: { readonly input: Input; readonly output: Input } | undefined;
    readonly jsonSchema: {
      readonly input: (options: JsonSchemaOptions) => Record<string, unknown>;
      readonly output: (options: JsonSchemaOptions) => Record<string, unknown>;
    };
  };
  /** The same as plain JSON Schema. */
  readonly jsonSchema: JsonValue;
}

/** @internal One property of an input: its JSON Schema, and what is wrong with a value. */
export interface Property<Value> {
  readonly jsonSchema: JsonValue;
  readonly problem: (value: unknown) => string | undefined;
  readonly optional: boolean;
  /** Never present: carries the type. */
  readonly value?: Value | undefined;
}

/** @internal Text of some length, in well-formed Unicode. */
export function text(options: {
  readonly description: string;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
}): Property<string> {
  const { description, minLength = 0, maxLength = Number.MAX_SAFE_INTEGER } = options;
  return {
    jsonSchema: {
      type: 'string',
      description,
      ...(options.minLength === undefined ? {} : { minLength }),
      ...(options.maxLength === undefined ? {} : { maxLength }),
    },
    optional: false,
    problem: (value) => {
      if (typeof value !== 'string') return 'must be a string';
      if (value.length < minLength) return `must have at least ${minLength} characters`;
      if (value.length > maxLength) return `must have at most ${maxLength} characters`;
      return loneSurrogate.test(value) ? 'must be well-formed Unicode' : undefined;
    },
  };
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** @internal A whole number within bounds. */
export function integer(options: {
  readonly description: string;
  readonly minimum: number;
  readonly maximum: number;
}): Property<number> {
  const { minimum, maximum } = options;
  return {
    jsonSchema: { type: 'integer', ...options },
    optional: false,
    problem: (value) =>
      Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum
        ? undefined
        : `must be a whole number from ${minimum} to ${maximum}`,
  };
}

/** @internal `true` or `false`. */
export function flag(options: { readonly description: string }): Property<boolean> {
  return {
    jsonSchema: { type: 'boolean', ...options },
    optional: false,
    problem: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  };
}

/** @internal May be left out. */
export function optional<Value>(property: Property<Value>): Property<Value> {
  return { ...property, optional: true };
}

const knownTargets: ReadonlySet<string> = new Set(['draft-2020-12', 'draft-07', 'openapi-3.0']);

/** @internal An object with exactly these properties. */
export function inputSchema<Input>(
  properties: {
    readonly [Key in keyof Input]-?: Property<NonNullable<Input[Key]>>;
  },
): InputSchema<Input> {
  const entries = Object.entries<Property<unknown>>(properties);
  const jsonSchema = Object.freeze({
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, property]) => [name, property.jsonSchema])),
    required: entries.filter(([, property]) => !property.optional).map(([name]) => name),
    additionalProperties: false,
  });
  const describe = ({ target }: JsonSchemaOptions): Record<string, unknown> => {
    if (!knownTargets.has(target)) throw new TypeError(`JSON Schema target ${target} is not supported`);
    return structuredClone(jsonSchema);
  };
  return Object.freeze({
    '~standard': Object.freeze({
      version: 1,
      vendor: 'holdfast',
      validate: (value: unknown) => validate<Input>(new Map(entries), value),
      jsonSchema: Object.freeze({ input: describe, output: describe }),
    }),
    jsonSchema,
  });
}

function validate<Input>(
  properties: ReadonlyMap<string, Property<unknown>>,
  value: unknown,
): StandardResult<Input> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { issues: [{ message: 'must be an object' }] };
  }
  const given = new Map<string, unknown>(Object.entries(value));
  const issues: { message: string; path: string[] }[] = [];
  const clean: [string, unknown][] = [];
  for (const [name, property] of properties) {
    const item = given.get(name);
    if (item === undefined) {
      if (!property.optional) issues.push({ message: `${name} is missing`, path: [name] });
      continue;
    }
    const problem = property.problem(item);
    if (problem === undefined) clean.push([name, item]);
    else issues.push({ message: `${name} ${problem}`, path: [name] });
  }
  for (const name of given.keys()) {
    if (!properties.has(name)) issues.push({ message: `${name} is not known`, path: [name] });
  }
  return issues.length > 0 ? { issues } : { value: Object.fromEntries(clean) as Input };
}
