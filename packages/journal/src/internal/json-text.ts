import type { JsonValue } from '@holdfast/base';

/** Why a value cannot be written as JSON, and where. */
export interface NotJson {
  /** For example `body.items[3].when`. */
  readonly path: string;
  readonly detail: string;
}

export type JsonTextResult = { readonly text: string } | { readonly problem: NotJson };

interface Frame {
  readonly container: object;
  /** Absent for arrays. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  /** Whether a member was written already, so that the next one needs a comma. */
  written: boolean;
}

/**
 * Writes any JSON value as text that `parseJsonText` reads back equal: keys in their own order (or sorted), `-0` kept,
 * lone surrogates escaped, members that are `undefined` left out as JSON does. Walks with its own stack, so that
 * nesting is bounded by memory and not by the call stack.
 */
export function writeJsonText(
  root: unknown,
  rootPath: string,
  options: { readonly sortKeys?: boolean } = {},
): JsonTextResult {
  const parts: string[] = [];
  const frames: Frame[] = [];
  const ancestors = new Set<object>();
  const fail = (detail: string): JsonTextResult => ({ problem: { path: pathOf(rootPath, frames), detail } });

  /** Writes a scalar or opens a container; the returned text says why it cannot. */
  const open = (value: unknown): string | undefined => {
    switch (typeof value) {
      case 'string':
        parts.push(JSON.stringify(value));
        return undefined;
      case 'number':
        if (!Number.isFinite(value)) return `${String(value)} is not a JSON number`;
        parts.push(Object.is(value, -0) ? '-0' : String(value));
        return undefined;
      case 'boolean':
        parts.push(value ? 'true' : 'false');
        return undefined;
      case 'object':
        break;
      default:
        return `a ${typeof value} is not JSON`;
    }
    if (value === null) {
      parts.push('null');
      return undefined;
    }
    if (ancestors.has(value)) return 'the value contains itself';
    const isArray = Array.isArray(value);
    if (!isArray && !isPlain(value)) return 'only plain objects, arrays and scalars are JSON';
    const keys = isArray ? undefined : Object.keys(value);
    if (options.sortKeys === true) (keys as string[] | undefined)?.sort();
    ancestors.add(value);
    frames.push({
      container: value,
      keys,
      length: keys?.length ?? (value as unknown[]).length,
      next: 0,
      written: false,
    });
    parts.push(isArray ? '[' : '{');
    return undefined;
  };

  const first = open(root);
  if (first !== undefined) return fail(first);
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    if (frame.next === frame.length) {
      parts.push(frame.keys === undefined ? ']' : '}');
      ancestors.delete(frame.container);
      frames.pop();
      continue;
    }
    const index = frame.next;
    frame.next += 1;
    const key = frame.keys?.[index];
    const member = (frame.container as Record<string | number, unknown>)[key ?? index];
    if (member === undefined) {
      if (key === undefined) return fail('an array has an undefined or missing member');
      continue;
    }
    if (frame.written) parts.push(',');
    frame.written = true;
    if (key !== undefined) parts.push(JSON.stringify(key), ':');
    const problem = open(member);
    if (problem !== undefined) return fail(problem);
  }
  return { text: parts.join('') };
}

/** Parses JSON text. @throws SyntaxError as the platform does. */
export function parseJsonText(text: string): JsonValue {
  // The platform's parser keeps an own `__proto__` member, lone surrogates and -0.
  return JSON.parse(text) as JsonValue;
}

/** Tells whether two JSON values are equal, whatever the order of their keys. */
export function equalJson(a: unknown, b: unknown): boolean {
  const left = writeJsonText(a, '', { sortKeys: true });
  const right = writeJsonText(b, '', { sortKeys: true });
  return 'text' in left && 'text' in right && left.text === right.text;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  // A plain object of another realm: its prototype is that realm's Object.prototype.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf');
}

function pathOf(rootPath: string, frames: readonly Frame[]): string {
  let path = rootPath;
  for (const frame of frames.slice(0, 32)) {
    const index = frame.next - 1;
    if (index < 0) break;
    path += frame.keys === undefined ? `[${String(index)}]` : `.${String(frame.keys[index]).slice(0, 80)}`;
  }
  return path;
}
