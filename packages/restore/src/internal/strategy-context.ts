import { type Clock, Pacer } from '@holdfast/base';
import type { Dir, WholeSync } from '@holdfast/durable';

import type { Operation } from '../operation.js';
import type { RootIdentity } from '../restore-journal.js';
import type { RootPlace } from '../scratch.js';
import type { ScratchPlacement, StrategyContext } from '../strategy.js';

export interface ContextParts {
  readonly place: RootPlace;
  readonly work: Dir;
  readonly placement: ScratchPlacement;
  readonly restoreId: string;
  readonly identity: RootIdentity;
  readonly operations: readonly Operation[];
  readonly clock: Clock;
  readonly wholeSync: WholeSync | undefined;
}

/** Makes the context in which a strategy changes or undoes. Nothing in it is cancelled. */
export function strategyContext(parts: ContextParts): StrategyContext {
  const { place } = parts;
  const pacer = new Pacer({ clock: parts.clock });
  return {
    restoreId: parts.restoreId,
    parent: place.parent,
    rootName: place.name,
    rootPath: place.path,
    root: place.root,
    rootIdentity: parts.identity,
    work: parts.work,
    scratch: parts.placement,
    operations: parts.operations,
    clock: parts.clock,
    wholeSync: parts.wholeSync,
    pause: async () => {
      if (pacer.due) await pacer.rest();
    },
  };
}

/** The operations that are not left out. */
export function withoutSkipped(
  operations: readonly Operation[],
  skipped: ReadonlySet<number>,
): readonly Operation[] {
  return skipped.size === 0 ? operations : operations.filter(({ number }) => !skipped.has(number));
}
