import type { JsonValue } from '@holdfast/base';

import type { CatalogueType, CheckpointTrigger, PrivateType } from './event-bodies.js';
import {
  anyJson,
  count,
  flag,
  freeText,
  isObject,
  type JsonObject,
  listOf,
  nullable,
  object,
  oneOf,
  optional,
  quantity,
  refText,
  type Schema,
  type SchemaProblem,
  text,
} from './internal/schema.js';
import { isRecordId } from './record.js';
import { EventInvalidError } from './session-errors.js';

/** Every trigger of a checkpoint. */
export const checkpointTriggers: readonly CheckpointTrigger[] = Object.freeze([
  'manual',
  'idle',
  'interrupt',
  'turn-done',
  'step-done',
  'seed',
  'baseline',
  'safety',
  'recovered',
]);

const placement = object({
  mode: oneOf(['exclusive', 'per-session', 'shared']),
  root: text,
  store: optional(text),
});
const failure = object({ code: optional(text), kind: optional(text), message: freeText });
const cause = object({
  event: optional(text),
  turn: optional(text),
  step: optional(count(1)),
  loop: optional(text),
  restore: optional(text),
});
const stats = object({
  entries: count(),
  files: count(),
  bytes: count(),
  filesRead: count(),
  bytesRead: count(),
  bytesStored: count(),
  durationMs: quantity,
});
const coverage = object({
  omitted: listOf(object({ path: freeText, reason: text })),
  dropped: listOf(object({ path: freeText, what: text })),
  raced: listOf(freeText),
});
const recordIdText: Schema = (value, path) =>
  value === undefined || isRecordId(value)
    ? text(value, path)
    : { rule: 'id', path, detail: 'is not a record id' };

/** The members that the cause of a checkpoint must have, by trigger; `none` forbids a cause. */
const causeRules: Readonly<Record<CheckpointTrigger, readonly string[] | 'none'>> = {
  manual: 'none',
  idle: [],
  interrupt: ['turn'],
  'turn-done': ['event'],
  'step-done': ['event'],
  seed: 'none',
  baseline: 'none',
  safety: ['restore'],
  recovered: [],
};

function causeRule(body: JsonObject, path: string): SchemaProblem | undefined {
  const trigger = body['trigger'] as CheckpointTrigger;
  const found = body['cause'];
  const rule = causeRules[trigger];
  if (rule === 'none') {
    if (found === undefined) return undefined;
    return {
      rule: 'field-unknown',
      path: `${path}.cause`,
      detail: `a checkpoint by ${trigger} has no cause`,
    };
  }
  for (const member of rule) {
    if (isObject(found) && found[member] !== undefined) continue;
    const where = `${path}.cause.${member}`;
    return { rule: 'field-missing', path: where, detail: `is required for trigger ${trigger}` };
  }
  return undefined;
}

const catalogue: Readonly<Record<CatalogueType, Schema>> = {
  SessionStarted: object({
    placement: optional(placement),
    seed: optional(refText),
    forkedFrom: optional(object({ session: text, seq: count() })),
  }),
  SessionRestored: object({ placement: optional(placement), interrupted: optional(listOf(text)) }),
  SessionStopped: object({ reason: optional(freeText) }),
  SessionActive: object({ loop: optional(text) }),
  SessionIdle: object({ loop: optional(text) }),
  LoopStarted: object({ loop: text, name: text, parent: optional(text) }),
  LoopIdle: object({ loop: text }),
  TurnStarted: object({ turn: text, loop: text, input: optional(anyJson) }),
  StepDone: object({ turn: text, loop: text, step: count(1), output: optional(anyJson) }),
  TurnDone: object({ turn: text, loop: text, output: optional(anyJson) }),
  TurnFailed: object({ turn: text, loop: text, error: failure }),
  TurnInterrupted: object({ turn: text, loop: text, reason: optional(freeText) }),
  WorkspaceCheckpointed: object(
    {
      ref: refText,
      hold: optional(anyJson),
      consistency: oneOf(['quiescent', 'fuzzy']),
      trigger: oneOf(checkpointTriggers),
      cause: optional(cause),
      stats,
      coverage,
    },
    causeRule,
  ),
  WorkspaceCheckpointFailed: object({
    trigger: oneOf(checkpointTriggers),
    cause: optional(cause),
    error: failure,
    durationMs: optional(quantity),
  }),
  WorkspaceRestored: object({ ref: refText }),
  ConversationRewound: object({ to: text, seq: count() }),
};

const privateCatalogue: Readonly<Record<PrivateType, Schema>> = {
  'restore-started': object({
    restoreId: recordIdText,
    ref: refText,
    previousRef: nullable(refText),
    safetyRef: optional(nullable(refText)),
    strategy: text,
    planDigest: optional(text),
    host: optional(text),
    root: optional(anyJson),
  }),
  'restore-prepared': object({
    restoreId: recordIdText,
    exact: optional(flag),
    treeKey: optional(text),
    receipt: optional(anyJson),
  }),
  'restore-aborted': object({ restoreId: recordIdText, reason: optional(freeText) }),
  title: object({ title: freeText }),
};

/** The types of the catalogue, as `docs/events.md` lists them. */
export const catalogueTypes: readonly CatalogueType[] = Object.freeze(
  Object.keys(catalogue) as CatalogueType[],
);

/** Tells whether `type` is an event of the catalogue. */
export function isCatalogueType(type: string): type is CatalogueType {
  return Object.hasOwn(catalogue, type);
}

const catalogueName = /^[A-Z][A-Za-z0-9]{0,127}$/;
const applicationName = /^[a-z][A-Za-z0-9._:/-]{0,127}$/;

/**
 * Checks an event before it is written. Names that begin with a capital letter belong to the catalogue, so that a later
 * version can add events without meeting an application's.
 * @throws EventInvalidError naming the member and the rule.
 */
export function checkEvent(type: unknown, body: JsonValue): void {
  if (typeof type !== 'string' || !(catalogueName.test(type) || applicationName.test(type))) {
    const detail = 'a type is 1 to 128 of A-Z a-z 0-9 . _ : / - and begins with a letter';
    throw new EventInvalidError(type, 'type-name', 'type', detail);
  }
  if (!isCatalogueType(type)) {
    if (applicationName.test(type)) return;
    const detail = 'not in the catalogue; the type of an application event begins with a lower-case letter';
    throw new EventInvalidError(type, 'unknown-catalogue-type', 'type', detail);
  }
  throwProblem(type, catalogue[type](body, 'body'));
  if (type !== 'WorkspaceRestored') return;
  const unknown = Object.keys(body as object).find((key) => key !== 'ref');
  if (unknown !== undefined) {
    throw new EventInvalidError(type, 'field-unknown', `body.${unknown}`, 'the body is exactly { ref }');
  }
}

/**
 * Checks an event that was read. Types that this version does not know pass unchanged, as do unknown members.
 * @throws EventInvalidError naming the member and the rule.
 */
export function checkStoredEvent(type: unknown, body: JsonValue): void {
  if (typeof type !== 'string')
    throw new EventInvalidError(type, 'type-name', 'type', 'the type of an event is text');
  if (isCatalogueType(type)) throwProblem(type, catalogue[type](body, 'body'));
}

/**
 * Checks a private record, before it is written and when it is read.
 * @throws EventInvalidError naming the member and the rule.
 */
export function checkPrivate(type: unknown, body: JsonValue): void {
  if (typeof type !== 'string' || !applicationName.test(type)) {
    throw new EventInvalidError(
      type,
      'type-name',
      'type',
      'the type of a private record begins with a lower-case letter',
    );
  }
  if (Object.hasOwn(privateCatalogue, type)) {
    throwProblem(type, privateCatalogue[type as PrivateType](body, 'body'));
  }
}

function throwProblem(type: string, problem: SchemaProblem | undefined): void {
  if (problem !== undefined) throw new EventInvalidError(type, problem.rule, problem.path, problem.detail);
}
