import { HoldfastError, throwIfAborted } from '@holdfast/base';
import type { ScanOptions } from '../capture-options.js';
import { SnapshotError } from '../errors.js';
import type { LiveTree } from '../tree.js';
import { nowhere } from './capture-destination.js';
import { checkCaptureOptions, openCaptureRoot } from './live-capture.js';
import { toLiveTree } from './live-tree.js';
import { captureLive } from './run-capture.js';
import type { StoreContext } from './store-context.js';
import { checkHostPath } from './tree-root.js';

/** Reads a live directory as a snapshot would, without storing anything. What it learns speeds up the next capture. */
export async function scanLive(context: StoreContext, root: string, options: ScanOptions): Promise<LiveTree> {
  checkHostPath(root);
  const asked = { ...options, ignore: options.ignore ?? options.target?.ignore };
  const rules = checkCaptureOptions(context, asked);
  try {
    const opened = openCaptureRoot(context, root, asked);
    try {
      const identity = opened.dir.stat();
      const state = await context.roots.get(opened.path, identity);
      const result = await captureLive(context, opened, rules, asked, state?.table, nowhere);
      context.roots.learn(opened.path, {
        identity,
        table: result.table,
        settled: result.settled,
        committed: state?.committed,
      });
      return await toLiveTree(result, options.signal);
    } finally {
      opened[Symbol.dispose]();
    }
  } catch (error) {
    throwIfAborted(options.signal);
    if (error instanceof HoldfastError && error.code.startsWith('WORKSPACE_')) throw error;
    throw new SnapshotError(root, { cause: error });
  }
}
