import type { PlacementOptions } from '@holdfast/rig';
import type { CaptureOptions } from '@holdfast/workspacestore';

import { type OptionSpec, parseByteCount, parseChoice } from '../arguments.js';
import type { CommandContext } from '../command.js';
import type { LocalCaptureOptions } from '../stack.js';

/** Options of every command that scans a live directory. */
export const captureOptionSpecs: readonly OptionSpec[] = [
  {
    name: 'ignore',
    value: 'PATTERN',
    repeatable: true,
    help: 'leave out what matches (gitignore syntax, in order; repeatable)',
  },
  { name: 'max-file-size', value: 'N', help: 'leave out files above N bytes (units: k, M, G) and say so' },
  { name: 'on-unreadable', value: 'fail|omit', help: 'what to do with what cannot be read (default: fail)' },
];

/** Reads the capture options of a call. */
export function captureOptions(context: CommandContext): LocalCaptureOptions {
  const size = context.arguments.value('max-file-size');
  const unreadable = context.arguments.value('on-unreadable');
  const ignore = context.arguments.values('ignore');
  return {
    ...(ignore.length === 0 ? {} : { ignore }),
    ...(size === undefined ? {} : { maxFileSize: parseByteCount(size, 'max-file-size') }),
    ...(unreadable === undefined
      ? {}
      : { onUnreadable: parseChoice(unreadable, 'on-unreadable', ['fail', 'omit'] as const) }),
    signal: context.io.signal,
    onProgress: (progress) => {
      context.progress.update(progress);
    },
  };
}

/** The same options in the store's terms. */
export function storeCapture(options: LocalCaptureOptions): CaptureOptions {
  const { onProgress } = options;
  return { ...placementCapture(options), ...(onProgress === undefined ? {} : { onProgress }) };
}

/** What a session's placement keeps of the options; empty when none was given. */
export function placementCapture({
  ignore,
  maxFileSize,
  onUnreadable,
}: LocalCaptureOptions): Pick<PlacementOptions, 'ignore' | 'limits' | 'onUnreadable'> {
  return {
    ...(ignore === undefined ? {} : { ignore }),
    ...(maxFileSize === undefined ? {} : { limits: { fileBytes: maxFileSize } }),
    ...(onUnreadable === undefined ? {} : { onUnreadable }),
  };
}
