import {
  type Clock,
  type JsonValue,
  Pacer,
  randomHex,
  systemClock,
  systemRandom,
  throwIfAborted,
} from '@holdfast/base';
import type { Dir } from '@holdfast/durable';
import type { Ref } from '@holdfast/workspacestore';

import type { ApplyOptions } from '../apply-options.js';
import { WorkspaceRestoreError, type WorkspaceRestoreFacts, type WorkspaceRestoreKind } from '../errors.js';
import type { Operation } from '../operation.js';
import type { Conflict, RestorePlan } from '../plan.js';
import type { PlanDetail } from '../plan-restore.js';
import { scanLive } from '../preview-restore.js';
import type { ReceiptNote, Verified } from '../receipt.js';
import { reconcile } from '../reconcile.js';
import type { RootIdentity } from '../restore-journal.js';
import { type RootPlace, scratchPath } from '../scratch.js';
import type { RestoreSource } from '../source.js';
import type {
  DiscardContext,
  PreparationContext,
  RestoreStrategy,
  ScratchPlacement,
  StrategyContext,
} from '../strategy.js';
import { chooseWholeSync } from './choose-whole-sync.js';
import { shownPath } from './plan-lists.js';
import { wrapFailure } from './resolve-plan.js';
import { identityOf } from './signature.js';
import { strategyContext, withoutSkipped } from './strategy-context.js';

/** What one restore knows while it runs. */
export class RunState {
  readonly source: RestoreSource;
  readonly ref: Ref;
  readonly place: RootPlace;
  readonly options: ApplyOptions;
  readonly plan: RestorePlan;
  readonly detail: PlanDetail;
  readonly clock: Clock;
  readonly placement: ScratchPlacement;
  readonly restoreId: string;
  readonly identity: RootIdentity;
  readonly startedAt: number;
  readonly notes: ReceiptNote[] = [];
  readonly skipped: Set<number> = new Set();
  readonly conflicts: Conflict[] = [];
  /** Operations that take away what changed after the plan, by number. */
  readonly overwritten: Set<number> = new Set();
  /** What the restore takes away and the safety checkpoint does not hold, as path text. */
  undoGaps: readonly string[] = [];
  strategy: RestoreStrategy;
  verified: Verified = 'none';
  /** What `secure` returned. */
  secured: JsonValue | undefined;

  constructor(
    source: RestoreSource,
    ref: Ref,
    place: RootPlace,
    options: ApplyOptions,
    resolved: { readonly plan: RestorePlan; readonly detail: PlanDetail },
  ) {
    this.source = source;
    this.ref = ref;
    this.place = place;
    this.options = options;
    this.plan = resolved.plan;
    this.detail = resolved.detail;
    this.clock = options.clock ?? systemClock;
    this.placement = options.scratch ?? 'sibling';
    this.restoreId = options.restoreId ?? randomHex(options.random ?? systemRandom, 16);
    this.strategy = options.strategy ?? reconcile();
    this.identity = identityOf(place.presentRoot);
    this.startedAt = this.clock.monotonic();
  }

  /** The operations that are not left out. */
  get operations(): readonly Operation[] {
    return withoutSkipped(this.detail.operations, this.skipped);
  }

  /** Where a failed undo leaves its copies. */
  get keptAt(): string {
    return `${scratchPath(this.place.path, this.placement)}/${this.options.session}`;
  }

  facts(): WorkspaceRestoreFacts {
    return { root: this.place.path, ref: this.ref, restoreId: this.restoreId };
  }

  /** Says the kind of a failure, unless it already has one or is the caller's own abort. */
  failure(error: unknown, kind: WorkspaceRestoreKind, detail: string): unknown {
    return wrapFailure(error, this.options.signal, kind, detail, this.facts());
  }

  /** The kind of a failure of the strategy. */
  get strategyFailure(): WorkspaceRestoreKind {
    return this.strategy.name === 'swap' ? 'swap-failed' : 'reconcile-failed';
  }

  note(note: ReceiptNote): void {
    if (!this.notes.some((known) => known.kind === note.kind)) this.notes.push(note);
  }

  context(work: Dir): StrategyContext {
    return strategyContext({
      place: this.place,
      work,
      placement: this.placement,
      restoreId: this.restoreId,
      identity: this.identity,
      operations: this.operations,
      clock: this.clock,
      wholeSync: chooseWholeSync(this.options, this.place, this.placement),
    });
  }

  preparation(work: Dir): PreparationContext {
    const { signal } = this.options;
    const pacer = new Pacer({ clock: this.clock });
    return {
      ...this.context(work),
      root: this.place.presentRoot,
      plan: this.plan,
      live: this.detail.live,
      target: this.detail.target,
      changedSince: (sinceNs, most) => this.detail.changedSince(sinceNs, most),
      source: this.source,
      onConflict: this.options.onConflict ?? 'fail',
      signal,
      pause: async () => {
        throwIfAborted(signal);
        if (pacer.due) await pacer.rest(signal);
      },
      occupied: () => this.options.occupied?.() ?? false,
      conflict: (operation, detail) => this.#conflict(operation, detail),
      note: (note) => {
        this.note(note);
      },
    };
  }

  discard(work: Dir, outcome: 'committed' | 'undone'): DiscardContext {
    return {
      ...this.context(work),
      outcome,
      state: this.secured,
      base: this.plan.base,
      scan: (path) => scanLive(this.source, this.detail.target, path, { ...this.options, signal: undefined }),
      note: (note) => {
        this.note(note);
      },
    };
  }

  #conflict(operation: Operation, detail: string): 'skip' | 'overwrite' {
    const path = shownPath(operation.path);
    const { onConflict = 'fail' } = this.options;
    if (onConflict === 'fail') {
      throw new WorkspaceRestoreError(
        'concurrent-change',
        `${JSON.stringify(path)} is not as the plan found it: ${detail}`,
        {
          ...this.facts(),
          paths: [path],
        },
      );
    }
    this.conflicts.push({ path, reason: 'concurrent-change' });
    if (onConflict === 'skip') this.skipped.add(operation.number);
    else this.overwritten.add(operation.number);
    return onConflict;
  }
}
