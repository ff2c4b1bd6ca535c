import type { FrameObject } from './archive-writer.js';
import type { ObjectSink } from './capture-types.js';
import type { LookupParts } from './object-lookup.js';

/** A sink with what a capture in slices, or in another thread, needs of it. */
export interface CaptureDestination extends ObjectSink {
  /** `true` when `relieve` should be called before more is added. */
  readonly full: boolean;
  relieve(): Promise<void>;
  /** Forgets what has been added: the capture starts over. */
  restart(): void;
  /** What another thread needs in order to know what is new; `undefined` when nothing is stored at all. */
  lookupParts(): LookupParts | undefined;
  /** Takes a raw frame that another thread filled, and resolves when there is room for more. */
  receive(group: 'data' | 'trees', bytes: Uint8Array, objects: readonly FrameObject[]): Promise<void>;
}

/** A destination that wants nothing. */
export const nowhere: CaptureDestination = Object.freeze({
  has: () => true,
  add: () => undefined,
  full: false,
  relieve: () => Promise.resolve(),
  restart: () => undefined,
  lookupParts: () => undefined,
  receive: () => Promise.resolve(),
});
