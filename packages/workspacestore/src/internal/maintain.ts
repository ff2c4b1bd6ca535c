import { throwIfAborted } from '@holdfast/base';

import { mergeGroup } from './merge.js';
import { rebaseClosure } from './rebase.js';
import type { StoreContext } from './store-context.js';

export interface MaintainOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface MaintainReport {
  /** Groups of eight archives that became one. */
  readonly merged: number;
  /** Roots whose dead archives were left behind. */
  readonly rebased: number;
}

/** Tidies the archives that the next snapshots will build on. */
export async function maintainStore(
  context: StoreContext,
  options: MaintainOptions,
): Promise<MaintainReport> {
  let merged = 0;
  let rebased = 0;
  for (const path of context.roots.paths()) {
    for (;;) {
      throwIfAborted(options.signal);
      const state = context.roots.peek(path);
      const next = state && (await mergeGroup(context, state, options));
      if (state === undefined || next === undefined || !context.roots.replace(path, state, next)) break;
      merged += 1;
    }
    throwIfAborted(options.signal);
    const state = context.roots.peek(path);
    const next = state && (await rebaseClosure(context, state, options));
    if (state !== undefined && next !== undefined && context.roots.replace(path, state, next)) rebased += 1;
  }
  return { merged, rebased };
}
