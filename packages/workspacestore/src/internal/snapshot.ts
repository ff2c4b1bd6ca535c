import { encodePathText, HoldfastError, throwIfAborted } from '@holdfast/base';
import type { SnapshotOptions, SnapshotResult } from '../capture-options.js';
import {
  CollectedError,
  IntegrityError,
  RefNotFoundError,
  SnapshotError,
  TreeChangedError,
} from '../errors.js';
import { parseRef, type Ref, refOfRootKey } from '../ref.js';
import type { OmittedEntry } from '../tree.js';
import type { CaptureResult } from './capture-types.js';
import { commitArchives } from './commit.js';
import { type CheckedRules, checkCaptureOptions, openCaptureRoot } from './live-capture.js';
import { countUnsealed, mergeGroup, tooManyUnsealed } from './merge.js';
import { addObject } from './object-adding.js';
import { keyText } from './object-key.js';
import { ObjectTable } from './object-table.js';
import type { ArchiveRef } from './record.js';
import { encodeRoot } from './root-object.js';
import type { RootState } from './root-state.js';
import { captureLive } from './run-capture.js';
import { SnapshotSink } from './snapshot-sink.js';
import { openSnapshot, type StoreContext } from './store-context.js';
import { holdOf } from './store-keys.js';
import { checkHostPath, type TreeRoot } from './tree-root.js';

/** Times that a snapshot is repeated because a collection took archives that it relied on. */
const maxRepeats = 3;

/** Captures a root and commits it. What is not one of our own facts is wrapped in a `SnapshotError`. */
export async function takeSnapshot(
  context: StoreContext,
  root: string,
  options: SnapshotOptions,
): Promise<SnapshotResult> {
  checkHostPath(root);
  const rules = checkCaptureOptions(context, options);
  const base = options.base === undefined ? undefined : parseRef(options.base);
  const started = context.clock.monotonic();
  try {
    const opened = openCaptureRoot(context, root, options);
    try {
      const avoid = new Set<string>();
      for (let repeat = 0; ; repeat += 1) {
        const result = await attempt(context, opened, rules, options, base, avoid, started);
        if (!('absent' in result)) return result;
        for (const name of result.absent) avoid.add(name);
        if (repeat === maxRepeats)
          throw new CollectedError(base ?? 'a new snapshot', [...avoid][0] ?? 'its own');
      }
    } finally {
      opened[Symbol.dispose]();
    }
  } catch (error) {
    throwIfAborted(options.signal);
    if (error instanceof HoldfastError && error.code.startsWith('WORKSPACE_')) throw error;
    throw new SnapshotError(root, { cause: error });
  }
}

// 1. Capture; archives are put, durably, as they fill.
// 2. Every archive that the record will name is proved: not condemned and there, after this writer registered.
// 3. The commit slot is won: point of no return.
// 4. The copy under the ref is durable; ref and hold are returned.
async function attempt(
  context: StoreContext,
  root: TreeRoot,
  rules: CheckedRules,
  options: SnapshotOptions,
  base: Ref | undefined,
  avoid: ReadonlySet<string>,
  started: number,
): Promise<SnapshotResult | { readonly absent: ReadonlySet<string> }> {
  const identity = root.dir.stat();
  const state = await context.roots.get(root.path, identity);
  const start = await startingPoint(context, state, base, avoid, options);
  const sink = new SnapshotSink(context, start.closure, options);
  const result = await captureLive(context, root, rules, options, state?.table, sink);
  // A root that was deleted meanwhile is not a tree with less in it.
  if (root.dir.stat().nlink === 0) throw new TreeChangedError('.');
  const rootKey = addObject(sink, 'root', encodeRootOf(result, rules));
  const ref = refOfRootKey(keyText(rootKey));
  const finish = (hold: string): SnapshotResult =>
    describe(ref, hold, result, sink, context.clock.monotonic() - started);
  if (ref === base && start.hold !== undefined && sink.isEmpty) {
    const committed = { ref, hold: start.hold, closure: start.closure };
    context.roots.learn(root.path, { identity, table: result.table, settled: result.settle?.(), committed });
    return finish(start.hold);
  }
  await sink.flush();
  const archives = [...start.closure.archives.map((archive) => archive.ref), ...sink.archives];
  const { entries, files, bytes } = result.totals;
  const outcome = await commitArchives(
    context,
    ref,
    archives,
    { entries, files, bytes, stored: sink.bytesStored },
    options,
  );
  if ('absent' in outcome) return outcome;
  const closure = await extend(context, start.closure, sink.archives);
  const committed = { ref, hold: outcome.hold, closure };
  const learned = { identity, table: result.table, settled: result.settle?.(), committed };
  context.roots.learn(root.path, learned);
  if (countUnsealed(closure) > tooManyUnsealed) await mergeNow(context, root.path, learned);
  await context.roots.committed(root.path);
  return finish(outcome.hold);
}

/** Nobody has called `maintain` for long: one group at a time keeps the closure bounded. */
async function mergeNow(context: StoreContext, path: string, state: RootState): Promise<void> {
  try {
    const next = await mergeGroup(context, state, {});
    if (next !== undefined) context.roots.replace(path, state, next);
  } catch (error) {
    // The snapshot is committed: what could not be tidied now is tidied by the next one.
    if (!(error instanceof HoldfastError)) throw error;
  }
}

interface StartingPoint {
  readonly closure: ObjectTable;
  /** Hold of the base's record, when that was found. */
  readonly hold: string | undefined;
}

/** The archives that a new snapshot can build on: those of the last one, and those of the base. */
async function startingPoint(
  context: StoreContext,
  state: RootState | undefined,
  base: Ref | undefined,
  avoid: ReadonlySet<string>,
  options: SnapshotOptions,
): Promise<StartingPoint> {
  const committed = state?.committed;
  const known =
    committed === undefined ? new ObjectTable() : await without(context, committed.closure, avoid, options);
  if (base === undefined) return { closure: known, hold: undefined };
  if (base === committed?.ref) return { closure: known, hold: avoid.size > 0 ? undefined : committed.hold };
  try {
    const opened = await openSnapshot(context, base, options);
    const closure = await without(context, opened.table, avoid, options);
    for (const archive of known.archives) closure.add(archive);
    return { closure, hold: avoid.size > 0 ? undefined : holdOf(opened.record.writer, opened.record.slot) };
  } catch (error) {
    // Without its base a snapshot is larger, not wrong.
    if (!(RefNotFoundError.is(error) || CollectedError.is(error) || IntegrityError.is(error))) throw error;
    return { closure: known, hold: undefined };
  }
}

/**
 * Leaves out archives that may not be relied on, so that what was in them is uploaded again; where a forward says that
 * all of it is in another archive, that one takes the place.
 */
async function without(
  context: StoreContext,
  closure: ObjectTable,
  avoid: ReadonlySet<string>,
  options: SnapshotOptions,
): Promise<ObjectTable> {
  if (!closure.archives.some((archive) => avoid.has(archive.ref.name))) return closure;
  const rest = new ObjectTable();
  for (const archive of closure.archives) {
    if (!avoid.has(archive.ref.name)) rest.add(archive);
  }
  for (const archive of closure.archives) {
    if (!avoid.has(archive.ref.name)) continue;
    const target = await context.archives.forward(archive.ref.name, options);
    if (target === undefined || avoid.has(target.name)) continue;
    const opened = await context.archives.open(target, options);
    if (opened !== undefined) rest.add(opened);
  }
  return rest;
}

async function extend(
  context: StoreContext,
  closure: ObjectTable,
  added: readonly ArchiveRef[],
): Promise<ObjectTable> {
  for (const archive of added) {
    const opened = await context.archives.open(archive, {});
    if (opened !== undefined) closure.add(opened);
  }
  return closure;
}

function encodeRootOf(result: CaptureResult, rules: CheckedRules): Uint8Array {
  const omitted = result.omitted.filter((entry) => entry.reason !== 'ignored') as readonly OmittedEntry[];
  return encodeRoot({ treeKey: result.treeKey, mode: result.rootMode, omitted, rules: rules.ignore.rules });
}

function describe(
  ref: Ref,
  hold: string,
  result: CaptureResult,
  sink: SnapshotSink,
  durationMs: number,
): SnapshotResult {
  return {
    ref,
    hold,
    stats: { ...result.totals, bytesStored: sink.bytesStored, durationMs },
    coverage: {
      omitted: result.omitted
        .filter(({ reason }) => reason !== 'ignored')
        .map(({ path, reason }) => ({ path: encodePathText(path), reason })),
      dropped: result.dropped.map(({ path, what }) => ({ path: encodePathText(path), what })),
      raced: result.raced.map((path) => (path.length === 0 ? '.' : encodePathText(path))),
    },
  };
}
