import {
  defaultSnapshotTimeout,
  type SnapshotPolicy,
  type SnapshotPriority,
  type SnapshotTrigger,
} from '@holdfast/session';

import { SnapshotPolicyError } from '../errors.js';
import type { WorkspacePlacement } from '../placement.js';
import type { SnapshotOptions } from '../rig-options.js';

const triggers: readonly SnapshotTrigger[] = ['manual', 'idle', 'turn-done', 'step-done'];
const priorities: readonly SnapshotPriority[] = ['best-effort', 'required'];

/**
 * Checks the snapshot policy of a rig.
 * @throws SnapshotPolicyError with the first kind that applies.
 */
export function resolvePolicy(
  options: SnapshotOptions | undefined,
  placement: WorkspacePlacement | undefined,
): SnapshotPolicy | undefined {
  const policy = options === undefined ? undefined : checkFields(options);
  if (policy === undefined && placement !== undefined) {
    throw new SnapshotPolicyError(
      'required',
      'a rig with a workspace needs snapshots: { trigger, priority }',
    );
  }
  if (policy !== undefined && placement === undefined) {
    throw new SnapshotPolicyError('without-workspace', 'snapshots need a workspace placement');
  }
  if (policy?.priority === 'required' && placement?.mode === 'shared') {
    throw new SnapshotPolicyError(
      'shared-required',
      'others may hold up or change a shared root at any time; use priority "best-effort"',
    );
  }
  return policy;
}

function checkFields(options: SnapshotOptions): SnapshotPolicy {
  const given: { readonly trigger?: unknown; readonly priority?: unknown; readonly timeout?: unknown } =
    options;
  const trigger = given.trigger ?? 'idle';
  if (!triggers.includes(trigger as SnapshotTrigger)) {
    throw new SnapshotPolicyError(
      'invalid-trigger',
      `expected ${triggers.join(', ')}; found ${shown(trigger)}`,
    );
  }
  const priority = given.priority ?? 'best-effort';
  if (!priorities.includes(priority as SnapshotPriority)) {
    throw new SnapshotPolicyError(
      'invalid-priority',
      `expected ${priorities.join(', ')}; found ${shown(priority)}`,
    );
  }
  const timeout = given.timeout ?? 0;
  if (typeof timeout !== 'number' || !Number.isFinite(timeout) || timeout < 0) {
    throw new SnapshotPolicyError(
      'invalid-timeout',
      `expected milliseconds of at least 0; found ${shown(timeout)}`,
    );
  }
  return Object.freeze({
    trigger: trigger as SnapshotTrigger,
    priority: priority as SnapshotPriority,
    timeout: timeout === 0 ? defaultSnapshotTimeout : timeout,
  });
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? typeof value;
}
