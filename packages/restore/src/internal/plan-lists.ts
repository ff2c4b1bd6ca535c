import { encodePathText } from '@holdfast/base';

import type { BeforeState, NodeState, Operation, OperationAction } from '../operation.js';
import type { Change, ChangeKind, Conflict, ConflictReason, Skipped, SkipReason } from '../plan.js';
import { compareKeys, depthOf, treeOrder } from './path-key.js';

/** The lists of a plan that hold changes. */
export type ChangeList = 'create' | 'replace' | 'chmod' | 'retype' | 'delete' | 'mkdir';

interface Keyed<T> {
  readonly order: string;
  readonly row: T;
}

interface Draft {
  readonly action: OperationAction;
  readonly key: string;
  readonly path: Uint8Array;
  readonly before: BeforeState | undefined;
  readonly after: NodeState | undefined;
}

/** Collects the rows and operations of a plan, in any order; gives them back in theirs. */
export class PlanLists {
  readonly #changes: Record<ChangeList, Keyed<Change>[]> = {
    create: [],
    replace: [],
    chmod: [],
    retype: [],
    delete: [],
    mkdir: [],
  };
  readonly #skipped: Keyed<Skipped>[] = [];
  readonly #conflicts: Keyed<Conflict>[] = [];
  readonly #drafts: Draft[] = [];
  bytes = 0;

  change(list: ChangeList, key: string, path: Uint8Array, state: NodeState, from?: string): void {
    const kind: ChangeKind = state.kind;
    const row: Change = {
      path: shownPath(path),
      kind,
      ...(kind === 'file' ? { size: state.size } : {}),
      ...(kind === 'file' || kind === 'directory' ? { mode: state.mode } : {}),
      ...(from === undefined ? {} : { from }),
    };
    this.#changes[list].push({ order: treeOrder(key), row });
  }

  operation(
    action: OperationAction,
    key: string,
    path: Uint8Array,
    before: BeforeState | undefined,
    after: NodeState | undefined,
  ): void {
    this.#drafts.push({ action, key, path, before, after });
    if (action === 'put' && after?.kind === 'file') this.bytes += after.size;
  }

  skip(key: string, path: Uint8Array, reason: SkipReason): void {
    this.#skipped.push({ order: treeOrder(key), row: { path: shownPath(path), reason } });
  }

  conflict(key: string, path: Uint8Array, reason: ConflictReason): void {
    this.#conflicts.push({ order: treeOrder(key), row: { path: shownPath(path), reason } });
  }

  changes(list: ChangeList): readonly Change[] {
    return inOrder(this.#changes[list]);
  }

  get skipped(): readonly Skipped[] {
    return inOrder(this.#skipped);
  }

  get conflicts(): readonly Conflict[] {
    return inOrder(this.#conflicts);
  }

  /** The operations in the order in which they are applied. */
  get operations(): readonly Operation[] {
    const byPath = (a: Draft, b: Draft): number => compareKeys(a.key, b.key);
    const deepestFirst = (a: Draft, b: Draft): number => depthOf(b.key) - depthOf(a.key) || byPath(a, b);
    const shallowestFirst = (a: Draft, b: Draft): number => depthOf(a.key) - depthOf(b.key) || byPath(a, b);
    const of = (action: OperationAction, compare: (a: Draft, b: Draft) => number): Draft[] =>
      this.#drafts.filter((draft) => draft.action === action).sort(compare);
    return [
      ...of('unlink', byPath),
      ...of('rmdir', deepestFirst),
      ...of('mkdir', shallowestFirst),
      ...of('put', byPath),
      ...of('chmod', deepestFirst),
    ].map(({ action, path, before, after }, number) => ({ number, action, path, before, after }));
  }
}

function inOrder<T>(rows: Keyed<T>[]): readonly T[] {
  return rows.sort((a, b) => compareKeys(a.order, b.order)).map(({ row }) => row);
}

/** How a path is shown: path text; the root is `.`. */
export function shownPath(path: Uint8Array): string {
  return path.length === 0 ? '.' : encodePathText(path);
}
