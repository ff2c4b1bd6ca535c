import type { FileSystem } from '@holdfast/durable';
import type { Ref } from '@holdfast/workspacestore';
import type { RestorePhase } from './intent.js';
import { IntentLog } from './internal/intent-log.js';
import { shownPath } from './internal/plan-lists.js';
import { ScratchDirectory } from './internal/session-scratch.js';
import { RootPlace } from './scratch.js';
import type { ScratchPlacement } from './strategy.js';

/** What the disk says about one restore, for whoever has to bring a journal in line with it. */
export interface RestoreOutcome {
  readonly session: string;
  readonly restoreId: string;
  readonly phase: RestorePhase;
  readonly epoch: number;
  readonly position: number;
  readonly ref: Ref;
  readonly previousRef?: Ref | undefined;
  readonly safetyRef?: Ref | undefined;
  readonly strategy: string;
  readonly planDigest: string;
  /** The exact bytes to append when `phase` is `committed` and the journal lacks them. */
  readonly event: Uint8Array;
  /** What the restore touches, as path text. */
  readonly paths: readonly string[];
  readonly scratch: ScratchPlacement;
}

/**
 * Reads what restores left on the disk, without changing anything. After `recover` every `phase` is `committed` or
 * `undone`.
 * @throws RestoreIntentError for an intent that cannot be read; `recover` moves it aside.
 */
export function readOutcomes(
  root: string,
  options: { readonly fileSystem?: FileSystem | undefined } = {},
): readonly RestoreOutcome[] {
  using place = RootPlace.open(root, options.fileSystem);
  const outcomes: RestoreOutcome[] = [];
  for (const placement of ['sibling', 'inside'] as const) {
    using scratch = ScratchDirectory.open(place, placement);
    for (const name of scratch?.sessions() ?? []) {
      using session = scratch?.findSession(name);
      using log = session === undefined ? undefined : IntentLog.open(session.dir);
      if (log === undefined) continue;
      const { operations, owner, root: identity, base, version, ...facts } = log.intent;
      void owner;
      void identity;
      void base;
      void version;
      const paths = [...new Set(operations.map(({ path }) => shownPath(path)))];
      outcomes.push({ ...facts, phase: log.phase, paths, scratch: placement });
    }
  }
  return outcomes;
}
