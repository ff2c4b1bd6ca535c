import { decodePathText, throwIfAborted } from '@holdfast/base';

import type { CaptureOptions } from '../capture-options.js';
import { completeLimits } from '../limits.js';
import type { CaptureRules } from './capture-types.js';
import { byteText } from './entry-path.js';
import { IgnoreMatcher } from './ignore-matcher.js';
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
