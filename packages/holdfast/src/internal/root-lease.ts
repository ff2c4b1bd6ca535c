import { HoldfastError, quote, sha256Hex } from '@holdfast/base';
import type { LeaseOwner } from '@holdfast/lease';

export function rootLeaseName(root: string): string {
  return `workspace-roots/${sha256Hex(new TextEncoder().encode(root))}`;
}

export class WorkspaceRootBusyError extends HoldfastError {
  static override readonly code = 'HOLDFAST_ROOT_BUSY';
  declare readonly code: 'HOLDFAST_ROOT_BUSY';
  constructor(
    root: string,
    holderEpoch: number,
    owner: LeaseOwner | undefined,
    options: { cause?: unknown } = {},
  ) {
    super(`root ${quote(root)} is in use`, { ...options, fields: { root, holderEpoch, owner } });
  }
}
