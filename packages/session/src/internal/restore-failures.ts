import { findCause } from '@holdfast/base';
import { CoordinatorUnhealthyError, PermitUnavailableError } from '@holdfast/coordinator';
import { ScratchUnavailableError, WorkspaceRestoreError } from '@holdfast/restore';
import {
  CollectedError,
  IntegrityError,
  MaterializeError,
  type Ref,
  RefNotFoundError,
} from '@holdfast/workspacestore';

import type { Cancellation } from './cancellation.js';

/** Which restore failed. */
export interface RestoreFacts {
  readonly root: string;
  readonly ref: Ref;
  readonly restoreId: string;
}

/** What the caller of a failed restore gets: its own reason when it aborted, else the most specific error there is. */
export function explainFailure(error: unknown, facts: RestoreFacts, cancellation: Cancellation): unknown {
  const by = cancellation.causeOf(error);
  if (by === 'caller') return error;
  const detail = error instanceof Error ? error.message : String(error);
  const because = { ...facts, cause: error };
  if (by !== undefined) return new WorkspaceRestoreError('canceled', detail, because);
  if (PermitUnavailableError.is(error)) return new WorkspaceRestoreError('permit-failed', detail, because);
  if (CoordinatorUnhealthyError.is(error)) {
    return new WorkspaceRestoreError('lease-unhealthy', detail, because);
  }
  if (ScratchUnavailableError.is(error)) {
    return new WorkspaceRestoreError('scratch-unavailable', detail, because);
  }
  return withStoreError(error, facts.ref, facts.root);
}

/** What the store could not give is a failure of the restore, with the ref and the place in its chain of causes. */
export function withStoreError(error: unknown, ref: Ref, root: string): unknown {
  const wrap = (cause: unknown): WorkspaceRestoreError => {
    const inner = new MaterializeError(ref, root, { cause });
    return new WorkspaceRestoreError('materialize-failed', inner.message, { root, ref, cause: inner });
  };
  if (isStoreError(error)) return wrap(error);
  const incomplete =
    WorkspaceRestoreError.is(error) &&
    error.kind === 'materialize-failed' &&
    findCause(error, MaterializeError) === undefined;
  return incomplete ? wrap(error.cause) : error;
}

function isStoreError(error: unknown): boolean {
  return (
    RefNotFoundError.is(error) ||
    CollectedError.is(error) ||
    IntegrityError.is(error) ||
    MaterializeError.is(error)
  );
}
