import type { Clock, JsonValue } from '@holdfast/base';
import type { Dir, WholeSync } from '@holdfast/durable';
import type { LiveEntry, LiveTree, Tree } from '@holdfast/workspacestore';

import type { Operation } from './operation.js';
import type { OnConflict, Prune, RestorePlan } from './plan.js';
import type { ReceiptNote } from './receipt.js';
import type { RootIdentity } from './restore-journal.js';
import type { RestoreSource } from './source.js';

/** Version of the interface between restore and its strategies. */
export type StrategyContract = 'restore-strategy/1';

/** Where scratch is. `inside` is a weaker grade: what works in the root can reach it. */
export type ScratchPlacement = 'sibling' | 'inside';

/** What a strategy is given at every step. Everything is owned by the caller and must not be closed. */
export interface StrategyContext {
  readonly restoreId: string;
  /** The directory that holds the root. */
  readonly parent: Dir;
  readonly rootName: Uint8Array;
  /** The canonical path of the root, for sources; never for touching anything. */
  readonly rootPath: string;
  /** The root as it was when the restore began; absent when recovery finds none. */
  readonly root: Dir | undefined;
  readonly rootIdentity: RootIdentity;
  /** A private directory for this restore alone, on the root's file system. Its content is the strategy's. */
  readonly work: Dir;
  readonly scratch: ScratchPlacement;
  /** What has to be done, in order, without what conflicts left out. */
  readonly operations: readonly Operation[];
  readonly clock: Clock;
  /** Makes everything durable at once, for steps that have much to sync; absent where that cannot be done. */
  readonly wholeSync: WholeSync | undefined;
  /** Lets the event loop turn when it is time to; call it in every loop. */
  pause(): Promise<void>;
}

/** Before the first change. */
export interface PreparationContext extends StrategyContext {
  readonly root: Dir;
  readonly plan: RestorePlan;
  /** The whole trees, unless the strategy is `selective`: then what is equal and below equal directories is left out. */
  readonly live: LiveTree;
  readonly target: Tree;
  /** Live entries, all of them considered, that changed at this time (nanoseconds since 1970) or later; the first `most`, default all. */
  changedSince(sinceNs: bigint, most?: number): readonly LiveEntry[];
  readonly source: RestoreSource;
  readonly onConflict: OnConflict;
  /** Aborts the preparation; later steps are not cancelled. `pause` observes it too. */
  readonly signal: AbortSignal | undefined;
  /** Whether a process that the caller knows of stands in the root. */
  occupied(): boolean;
  /**
   * Reports that a path is not as the plan found it. With `skip` the operation is left out; with `overwrite` what is there
   * now becomes what will be undone to.
   * @throws WorkspaceRestoreError `concurrent-change` with `fail`.
   */
  conflict(operation: Operation, detail: string): 'skip' | 'overwrite';
  /** Adds a note to the receipt. */
  note(note: ReceiptNote): void;
}

/** After the outcome is settled. */
export interface DiscardContext extends StrategyContext {
  readonly outcome: 'committed' | 'undone';
  /** What `secure` returned; absent when it never did. */
  readonly state: JsonValue | undefined;
  /** Tree key of the tree that the restore started from. */
  readonly base: string;
  /** Scans as the restore did; absent where nobody can. Without it nothing that held live data may be removed. */
  readonly scan: ((path: string) => Promise<LiveTree>) | undefined;
  note(note: ReceiptNote): void;
}

/**
 * How a plan is carried out so that a crash at any instruction leaves the old tree or the new one after recovery.
 * Restore owns the intent, the phases, the journal, verification and the receipt; a strategy owns what happens to the
 * root. Steps come in this order; the words *must* and *guaranteed* are the contract of `docs/contracts/restore-strategy.md`.
 */
export interface RestoreStrategy {
  readonly contract: StrategyContract;
  /** `[a-z0-9-]{1,40}`; recorded in intents, so it must name the same undo for ever. */
  readonly name: string;
  /** How plans for it prune unless the caller says otherwise. */
  readonly prune: Prune;
  /** `true`: goes by the operations alone, so that what does not differ need not be read. Default `false`. */
  readonly selective?: boolean | undefined;
  /** Used, with a note in the receipt, when this one is unavailable. Absent: the restore is refused. */
  readonly fallback: RestoreStrategy | undefined;
  /** Why this restore cannot be done this way, or `undefined`. Must change nothing that outlives it. */
  unavailable(context: PreparationContext): Promise<string | undefined>;
  /** Must build everything new in scratch, verified, and must not change the root. Guaranteed: an intent is durable. */
  stage(context: PreparationContext): Promise<void>;
  /**
   * Must make every undo durable, and what `stage` built, and must not change what the root shows. Returns what `commit` and `undo` need, as JSON;
   * it is durable before `commit` runs.
   */
  secure(context: PreparationContext): Promise<JsonValue>;
  /** Must bring the root to the new tree and make all of it durable. Not cancelled. A rejection is followed by `undo`. */
  commit(context: StrategyContext, state: JsonValue): Promise<void>;
  /**
   * Must bring the root to the old tree from any state that `commit` or an earlier `undo` may have left, deciding by what
   * is there and not by how far it came, and make all of it durable. Must change nothing when it cannot.
   */
  undo(context: StrategyContext, state: JsonValue): Promise<void>;
  /** Must remove what it keeps outside `work`. Guaranteed: the outcome is durable, and so is its event. */
  discard(context: DiscardContext): Promise<void>;
}
