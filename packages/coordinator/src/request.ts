import { type CanonicalPath, containsPath, parseCanonicalPath } from './canonical-path.js';
import { InvalidRequestError } from './errors.js';

/** What a permit allows. */
export type Operation = 'path-mutation' | 'whole-mutation' | 'checkpoint' | 'lifetime';

/** What a supervised process may do to the workspace while it lives. */
export type LifetimeAccess = 'read-only' | 'scoped-write' | 'broad-write';

/** What somebody asks the coordinator for. */
export type PermitRequest =
  /** One file or one subtree will be changed. */
  | { readonly operation: 'path-mutation'; readonly path: CanonicalPath }
  /** Anything may be changed: a shell command, a tool with unknown targets. */
  | { readonly operation: 'whole-mutation' }
  /** A snapshot or a restore: nobody may change anything meanwhile. */
  | { readonly operation: 'checkpoint' }
  /** A background process, from before it starts until it has exited. */
  | { readonly operation: 'lifetime'; readonly access: 'read-only' | 'broad-write' }
  | {
      readonly operation: 'lifetime';
      readonly access: 'scoped-write';
      readonly scopes: readonly CanonicalPath[];
    };

/**
 * How requests exclude each other: a reader conflicts with nothing; scoped writers conflict when a scope of one is or
 * contains a scope of the other; a global writer conflicts with every writer.
 */
export type Group = 'reader' | 'scoped-writer' | 'global-writer';

/** @internal A checked request. `scopes` holds no scope inside another; it is empty unless the group is scoped. */
export interface CheckedRequest {
  readonly operation: Operation;
  readonly access: LifetimeAccess | undefined;
  readonly group: Group;
  readonly scopes: readonly CanonicalPath[];
}

interface LooseRequest {
  readonly operation?: unknown;
  readonly path?: unknown;
  readonly access?: unknown;
  readonly scopes?: unknown;
}

/**
 * @internal Checks a request from outside, where types are only a promise.
 * @throws InvalidRequestError when operation and arguments do not fit; InvalidScopeError for a scope that is not canonical.
 */
export function checkRequest(request: PermitRequest): CheckedRequest {
  const loose: LooseRequest = request;
  const { operation } = loose;
  switch (operation) {
    case 'path-mutation':
      refuseGiven(loose, ['access', 'scopes']);
      if (loose.path === undefined) {
        throw new InvalidRequestError('path-required', operation, 'give the path that will be changed');
      }
      return scoped(operation, undefined, [parseCanonicalPath(loose.path)]);
    case 'whole-mutation':
    case 'checkpoint':
      refuseGiven(loose, ['path', 'access', 'scopes']);
      return { operation, access: undefined, group: 'global-writer', scopes: [] };
    case 'lifetime':
      refuseGiven(loose, ['path']);
      return checkLifetime(loose);
    default:
      throw new InvalidRequestError(
        'unknown-operation',
        operation,
        'known are path-mutation, whole-mutation, checkpoint, lifetime',
      );
  }
}

function checkLifetime(loose: LooseRequest): CheckedRequest {
  const { access } = loose;
  switch (access) {
    case 'read-only':
    case 'broad-write':
      refuseGiven(loose, ['scopes']);
      return {
        operation: 'lifetime',
        access,
        group: access === 'read-only' ? 'reader' : 'global-writer',
        scopes: [],
      };
    case 'scoped-write': {
      if (!Array.isArray(loose.scopes) || loose.scopes.length === 0) {
        throw new InvalidRequestError('scopes-required', 'lifetime', 'scoped-write needs at least one scope');
      }
      return scoped('lifetime', access, (loose.scopes as readonly unknown[]).map(parseCanonicalPath));
    }
    default:
      throw new InvalidRequestError(
        'unknown-access',
        'lifetime',
        'access is read-only, scoped-write or broad-write',
      );
  }
}

const forbiddenKind = {
  path: 'path-forbidden',
  access: 'access-forbidden',
  scopes: 'scopes-forbidden',
} as const;

function refuseGiven(loose: LooseRequest, keys: readonly (keyof typeof forbiddenKind)[]): void {
  for (const key of keys) {
    if (loose[key] !== undefined) {
      throw new InvalidRequestError(forbiddenKind[key], loose.operation, `${key} does not belong here`);
    }
  }
}

function scoped(
  operation: Operation,
  access: LifetimeAccess | undefined,
  scopes: readonly CanonicalPath[],
): CheckedRequest {
  if (scopes.length === 1) return { operation, access, group: 'scoped-writer', scopes };
  const unique = [...new Set(scopes)];
  // A request must not stand in its own way: of nested scopes only the outermost counts.
  const outermost = unique.filter(
    (scope) => !unique.some((other) => other !== scope && containsPath(other, scope)),
  );
  return { operation, access, group: 'scoped-writer', scopes: outermost };
}

/** @internal Tells whether two requests may not be active together. */
export function conflict(one: CheckedRequest, other: CheckedRequest): boolean {
  if (one.group === 'reader' || other.group === 'reader') return false;
  if (one.group === 'global-writer' || other.group === 'global-writer') return true;
  return one.scopes.some((a) => other.scopes.some((b) => containsPath(a, b) || containsPath(b, a)));
}
