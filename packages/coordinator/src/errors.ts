import { HoldfastError, type JsonValue, quote, textOf } from '@holdfast/base';

/** Why a scope was refused. */
export type ScopeRule = 'type' | 'empty' | 'relative' | 'unclean' | 'nul';

/** A scope is not a canonical path; nothing was queued. */
export class InvalidScopeError extends HoldfastError {
  static override readonly code = 'COORDINATOR_INVALID_SCOPE';
  declare readonly code: 'COORDINATOR_INVALID_SCOPE';
  declare readonly scope: string;
  declare readonly rule: ScopeRule;

  constructor(scope: unknown, rule: ScopeRule) {
    const shown = textOf(scope).slice(0, 4096);
    super(
      `scope ${quote(shown)} breaks rule ${rule}: pass an absolute clean path with its symlinks resolved`,
      { fields: { scope: shown, rule }, effect: 'none' },
    );
  }
}

/** What is wrong with a permit request. */
export type RequestRule =
  | 'unknown-operation'
  | 'path-required'
  | 'path-forbidden'
  | 'unknown-access'
  | 'access-forbidden'
  | 'scopes-required'
  | 'scopes-forbidden';

/** A permit request contradicts itself; nothing was queued. */
export class InvalidRequestError extends HoldfastError {
  static override readonly code = 'COORDINATOR_INVALID_REQUEST';
  declare readonly code: 'COORDINATOR_INVALID_REQUEST';
  declare readonly kind: RequestRule;
  declare readonly operation: string;

  constructor(kind: RequestRule, operation: unknown, found: string) {
    const shown = textOf(operation);
    super(`permit request ${quote(shown)} was refused (${kind}): ${found}`, {
      fields: { kind, operation: shown },
      effect: 'none',
    });
  }
}

/** Why a permit was not granted. */
export type UnavailableKind = 'busy' | 'timeout';

/** Who stands in the way of a permit. JSON-safe. */
export type BlockerFields = Readonly<Record<string, JsonValue>>;

/** A permit could not be had at once (`drain: 'fail'`) or in time; `holders` says who stands in the way. */
export class PermitUnavailableError extends HoldfastError {
  static override readonly code = 'COORDINATOR_UNAVAILABLE';
  declare readonly code: 'COORDINATOR_UNAVAILABLE';
  declare readonly kind: UnavailableKind;
  declare readonly operation: string;
  declare readonly holders: readonly BlockerFields[];

  constructor(kind: UnavailableKind, operation: string, holders: readonly BlockerFields[]) {
    const first = holders[0] === undefined ? 'process admission is suspended' : blockerText(holders[0]);
    super(
      `permit for ${operation} was not granted (${kind}): ${holders.length} in the way, first ${first}; wait for them or end them`,
      { fields: { kind, operation, holders }, effect: 'none', retryable: true },
    );
  }
}

/** Who stands in the way, in words: `loop editor, toolCall write`. */
function blockerText(fields: BlockerFields): string {
  const words = Object.entries(fields).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return words.length === 0 ? 'somebody' : words.join(', ');
}

/** The coordinator was closed: waiting requests are rejected with this and new ones are refused. */
export class CoordinatorClosedError extends HoldfastError {
  static override readonly code = 'COORDINATOR_CLOSED';
  declare readonly code: 'COORDINATOR_CLOSED';

  constructor() {
    super('the coordinator is closed: its session is shutting down or has ended', { effect: 'none' });
  }
}

/** The health callback says that the right to change the workspace is gone or unknown; the cause says why. */
export class CoordinatorUnhealthyError extends HoldfastError {
  static override readonly code = 'COORDINATOR_UNHEALTHY';
  declare readonly code: 'COORDINATOR_UNHEALTHY';

  constructor(cause: unknown) {
    super('the right to change the workspace could not be confirmed: change nothing', {
      cause,
      effect: 'none',
    });
  }
}

/** Every code of this package. */
export type CoordinatorErrorCode =
  | typeof InvalidScopeError.code
  | typeof InvalidRequestError.code
  | typeof PermitUnavailableError.code
  | typeof CoordinatorClosedError.code
  | typeof CoordinatorUnhealthyError.code;
