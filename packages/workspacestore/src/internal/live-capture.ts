import { decodePathText, throwIfAborted } from '@holdfast/base';

import type { CaptureOptions } from '../capture-options.js';
import { completeLimits } from '../limits.js';
import { Capture } from './capture.js';
import type { CaptureResult, CaptureRules, ObjectSink } from './capture-types.js';
import { drive } from './drive.js';
import { byteText } from './entry-path.js';
import { IgnoreMatcher } from './ignore-matcher.js';
import { mappedInodes } from './mapped-inodes.js';
import { signatureTrust } from './signature-trust.js';
import type { StatTable } from './stat-table.js';
import type { StoreContext } from './store-context.js';
import { openTreeRoot, refuseOverlap, type TreeRoot } from './tree-root.js';

/** Options of a capture, checked. */
export type CheckedRules = Omit<CaptureRules, 'racyFromNs' | 'trustSignatures'>;

/** @throws TypeError or RangeError for wrong options, before anything is looked at. */
export function checkCaptureOptions(context: StoreContext, options: CaptureOptions): CheckedRules {
  const onUnreadable = options.onUnreadable ?? 'fail';
  if (onUnreadable !== 'fail' && onUnreadable !== 'omit') {
    throw new TypeError(`onUnreadable: expected "fail" or "omit", found ${JSON.stringify(onUnreadable)}`);
  }
  return {
    limits: completeLimits(options.limits, context.limits),
    ignore: new IgnoreMatcher(options.ignore ?? []),
    reserved: new Set((options.reserved ?? []).map((path) => byteText(decodePathText(path)))),
    onUnreadable,
    quiescent: options.quiescent ?? false,
  };
}

/** Opens the root of a capture and refuses one that overlaps with the store. */
export function openCaptureRoot(context: StoreContext, root: string, options: CaptureOptions): TreeRoot {
  throwIfAborted(options.signal);
  const opened = openTreeRoot(context.fileSystem, root);
  try {
    refuseOverlap(opened.path, context.storagePaths);
    return opened;
  } catch (error) {
    opened[Symbol.dispose]();
    throw error;
  }
}

/** A sink with the part of it that takes time. */
export interface CaptureDestination extends ObjectSink {
  readonly full: boolean;
  flush(): Promise<void>;
}

/** Captures an open root. */
export async function captureLive(
  context: StoreContext,
  root: TreeRoot,
  checked: CheckedRules,
  options: CaptureOptions,
  previous: StatTable | undefined,
  destination: CaptureDestination,
): Promise<CaptureResult> {
  const trust = signatureTrust(root.path);
  const rules: CaptureRules = {
    ...checked,
    trustSignatures: trust.trusted,
    racyFromNs: BigInt(Math.floor((context.clock.now() - trust.marginMs) * 1000)) * 1000n,
  };
  const capture = new Capture(context.fileSystem, rules, previous, destination);
  const result = await drive(capture.run(root.dir.handle()), {
    signal: options.signal,
    wantsRest: () => destination.full,
    onRest: async () => {
      options.onProgress?.({ phase: 'scanning', ...capture.totals });
      if (destination.full) await destination.flush();
    },
  });
  // Rows that vouch without having been read were looked at when they were.
  if (result.totals.filesRead > 0) result.table.distrust(mappedInodes());
  return result;
}
