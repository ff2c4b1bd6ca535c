import { HoldfastError, quote, textOf } from '@holdfast/base';

declare const refBrand: unique symbol;
declare const contentKeyBrand: unique symbol;

/** Names one snapshot: `v1:sha256:` and the 64 lower-case hex digits of its root object's key. Minted by the store only. */
export type Ref = string & { readonly [refBrand]: true };

/** Identity of a file's content: the 64 lower-case hex digits of its file object's key. */
export type ContentKey = string & { readonly [contentKeyBrand]: true };

/** Why a text is no ref. */
export type RefRule = 'type' | 'version' | 'algorithm' | 'digits';

/** A text that should have been a ref is none; nothing was read or written. */
export class InvalidRefError extends HoldfastError {
  static override readonly code = 'WORKSPACE_INVALID_REF';
  declare readonly code: 'WORKSPACE_INVALID_REF';
  declare readonly value: string;
  declare readonly reason: RefRule;

  constructor(value: unknown, reason: RefRule) {
    const shown = textOf(value).slice(0, 200);
    super(`ref ${quote(shown)} breaks rule ${reason}: a ref is "v1:sha256:" and 64 lower-case hex digits`, {
      fields: { value: shown, reason },
      effect: 'none',
    });
  }
}

const prefix = 'v1:sha256:';

function brokenRefRule(value: unknown): RefRule | undefined {
  if (typeof value !== 'string') return 'type';
  if (!value.startsWith('v1:')) return 'version';
  if (!value.startsWith(prefix)) return 'algorithm';
  if (!/^[0-9a-f]{64}$/.test(value.slice(prefix.length))) return 'digits';
  return undefined;
}

/**
 * Checks a ref and returns it. Says nothing about whether a store has it.
 * @throws InvalidRefError naming the broken rule.
 */
export function parseRef(value: unknown): Ref {
  const reason = brokenRefRule(value);
  if (reason !== undefined) throw new InvalidRefError(value, reason);
  return value as Ref;
}

/** Checks a ref and returns it, or `undefined` when it is none. */
export function tryParseRef(value: unknown): Ref | undefined {
  return brokenRefRule(value) === undefined ? (value as Ref) : undefined;
}

/** Makes the ref of a root object's key, 64 hex digits. */
export function refOfRootKey(hex: string): Ref {
  return `${prefix}${hex}` as Ref;
}

/** The 64 hex digits inside a ref. */
export function rootKeyOfRef(ref: Ref): string {
  return ref.slice(prefix.length);
}
