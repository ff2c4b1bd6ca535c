import { HoldfastError, quote, textOf } from './errors.js';

/** Why a name was refused. */
export type NameRule = 'type' | 'empty' | 'too-long' | 'empty-segment' | 'first-character' | 'character';

/** A storage name breaks the grammar; nothing was read or written. */
export class InvalidNameError extends HoldfastError {
  static override readonly code = 'BASE_INVALID_NAME';
  declare readonly code: 'BASE_INVALID_NAME';
  declare readonly invalidName: string;
  declare readonly rule: NameRule;

  constructor(name: unknown, rule: NameRule) {
    const shown = textOf(name);
    super(
      `name ${quote(shown)} breaks rule ${rule}: names are 1 to 512 bytes, segments of [a-z0-9][a-z0-9_.-]* joined by "/"`,
      { fields: { invalidName: shown.slice(0, 600), rule }, effect: 'none' },
    );
  }
}

/** The longest storage name, in bytes. */
export const maxNameBytes = 512;

const firstCharacter = /^[a-z0-9]/;
const segmentCharacters = /^[a-z0-9_.-]*$/;

/** Tells which rule of the grammar `name` breaks; `undefined` when it is a legal storage name. */
export function brokenNameRule(name: unknown): NameRule | undefined {
  if (typeof name !== 'string') return 'type';
  if (name.length === 0) return 'empty';
  if (name.length > maxNameBytes) return 'too-long';
  for (const segment of name.split('/')) {
    if (segment.length === 0) return 'empty-segment';
    if (!firstCharacter.test(segment)) return 'first-character';
    if (!segmentCharacters.test(segment)) return 'character';
  }
  return undefined;
}

/**
 * Checks a storage name (object key, ledger name, lease name) and returns it.
 * @throws InvalidNameError naming the broken rule.
 */
export function parseName(name: unknown): string {
  const rule = brokenNameRule(name);
  if (rule !== undefined) throw new InvalidNameError(name, rule);
  return name as string;
}

/**
 * Checks a name prefix as used by `list`: empty, a legal name, or a legal name followed by `/`, or any text that can
 * still grow into a legal name.
 * @throws InvalidNameError when no legal name can start with it.
 */
export function parseNamePrefix(prefix: unknown): string {
  if (typeof prefix !== 'string') throw new InvalidNameError(prefix, 'type');
  if (prefix === '') return prefix;
  const probe = prefix.endsWith('/') ? `${prefix}0` : prefix;
  const rule = brokenNameRule(probe);
  if (rule !== undefined) throw new InvalidNameError(prefix, rule);
  return prefix;
}
