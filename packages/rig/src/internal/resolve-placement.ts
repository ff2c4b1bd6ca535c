import { sha256Hex } from '@holdfast/base';
import type { LeaseScope } from '@holdfast/lease';

import { WorkspacePlacementError } from '../errors.js';
import type { ExclusivePlacement, WorkspacePlacement } from '../placement.js';
import { canonicalRoot } from './canonical-root.js';

/** A placement that was checked. */
export interface ResolvedPlacement {
  readonly placement: WorkspacePlacement;
  /** Canonical: the fixed root, or the base directory of per-session roots. */
  readonly region: string;
}

const scopeRank: Readonly<Record<LeaseScope, number>> = { process: 0, host: 1, fleet: 2 };

/**
 * Checks a placement and makes its paths canonical.
 * @throws WorkspacePlacementError with the first kind that applies.
 */
export function resolvePlacement(placement: WorkspacePlacement): ResolvedPlacement {
  if (!hasMethods(placement.store, ['snapshot', 'materialize', 'openTree', 'storagePaths'])) {
    throw new WorkspacePlacementError('nil-store', 'pass an open workspace store');
  }
  const given: unknown = placement.mode === 'per-session' ? placement.baseDirectory : placement.root;
  if (typeof given !== 'string' || given === '') {
    throw new WorkspacePlacementError('empty-root', 'pass the path of a directory');
  }
  const region = resolveRegion(placement, given);
  if (placement.mode === 'exclusive') checkLeaser(placement, region);
  return { placement, region };
}

/** Name of the lease of a canonical root. */
export function rootLeaseName(root: string): string {
  return `workspace-roots/${sha256Hex(new TextEncoder().encode(root))}`;
}

function resolveRegion(placement: WorkspacePlacement, given: string): string {
  let resolved: ReturnType<typeof canonicalRoot>;
  try {
    if (given.includes('\0')) throw new TypeError('the path holds a NUL');
    resolved = canonicalRoot(given);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new WorkspacePlacementError('canonicalize-failed', detail, { root: given, cause: error });
  }
  const { path, found } = resolved;
  const mayBeMissing = placement.mode === 'per-session' || placement.options.create === true;
  if (found === 'other' || (found === 'missing' && !mayBeMissing)) {
    const detail =
      found === 'other'
        ? `${path} is not a directory`
        : `${path} does not exist: make it, or pass create: true`;
    throw new WorkspacePlacementError('root-not-directory', detail, { root: given });
  }
  if (path === '/' && placement.mode !== 'per-session') {
    throw new WorkspacePlacementError(
      'root-is-filesystem-root',
      'the root of a file system cannot be managed',
      {
        root: given,
      },
    );
  }
  return path;
}

function checkLeaser(placement: ExclusivePlacement, root: string): void {
  const { leaser, options } = placement;
  if (!hasMethods(leaser, ['acquire', 'checkName', 'storagePaths']) || !hasScope(leaser)) {
    throw new WorkspacePlacementError('nil-leaser', 'pass an open leaser', { root });
  }
  const needed = options.scope ?? 'process';
  if (scopeRank[leaser.supports.scope] < scopeRank[needed]) {
    throw new WorkspacePlacementError(
      'leaser-scope-too-small',
      `the leaser excludes within a ${leaser.supports.scope}, ${needed} is asked for`,
      { root },
    );
  }
  const name = rootLeaseName(root);
  try {
    leaser.checkName(name);
  } catch (cause) {
    throw new WorkspacePlacementError('lease-name-invalid', `the leaser refuses ${name}`, { root, cause });
  }
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
}

function hasScope(leaser: unknown): boolean {
  const { supports } = leaser as { supports?: { scope?: unknown } | null };
  const scope = supports?.scope;
  return typeof scope === 'string' && Object.hasOwn(scopeRank, scope);
}
