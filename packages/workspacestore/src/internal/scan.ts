import { HoldfastError, throwIfAborted } from '@holdfast/base';
import type { ScanOptions } from '../capture-options.js';
import { SnapshotError } from '../errors.js';
import type { LiveTree } from '../tree.js';
import { nowhere } from './capture-destination.js';
import type { CaptureResult } from './capture-types.js';
import { type CheckedRules, checkCaptureOptions, openCaptureRoot } from './live-capture.js';
import { toLiveTree } from './live-tree.js';
import { captureLive } from './run-capture.js';
import type { StoreContext } from './store-context.js';
import { checkHostPath } from './tree-root.js';

/** Reads a live directory as a snapshot would, without storing anything. What it learns speeds up the next capture. */
export async function scanLive(context: StoreContext, root: string, options: ScanOptions): Promise<LiveTree> {
  checkHostPath(root);
  const asked = { ...options, ignore: options.ignore ?? options.target?.ignore };
  const rules = checkCaptureOptions(context, asked);
  return await wrapScanFailure(root, asked, async () => {
    return await toLiveTree(await captureForScan(context, root, rules, asked), options.signal);
  });
}

/** The capture of a scan: nothing is stored, what it learns is kept. */
export async function captureForScan(
  context: StoreContext,
  root: string,
  rules: CheckedRules,
  options: ScanOptions,
): Promise<CaptureResult> {
  const opened = openCaptureRoot(context, root, options);
  try {
    const identity = opened.dir.stat();
    const state = await context.roots.get(opened.path, identity);
    const result = await captureLive(context, opened, rules, options, state?.table, nowhere);
    context.roots.learn(opened.path, {
      identity,
      table: result.table,
      settled: result.settle?.(),
      committed: state?.committed,
    });
    return result;
  } finally {
    opened[Symbol.dispose]();
  }
}

/** Aborts and facts of ours pass; what is neither becomes a `SnapshotError`. */
export async function wrapScanFailure<T>(
  root: string,
  options: { readonly signal?: AbortSignal | undefined },
  scan: () => Promise<T>,
): Promise<T> {
  try {
    return await scan();
  } catch (error) {
    throwIfAborted(options.signal);
    if (error instanceof HoldfastError && error.code.startsWith('WORKSPACE_')) throw error;
    throw new SnapshotError(root, { cause: error });
  }
}
