import type { MessagePort } from 'node:worker_threads';

import type { Limits } from '../../limits.js';
import type { CaptureResult, CaptureTotals } from '../capture-types.js';
import type { Compression } from '../frame-codec.js';
import type { LookupParts } from '../object-lookup.js';
import type { ScoutParts } from '../scout.js';
import type { StatTableParts } from '../stat-table.js';
import type { TransferredError } from './error-transfer.js';
import type { ExpandedFrame, StoredFrame } from './expand-frames.js';

/** A capture as it is sent to the thread that runs it. */
export interface CaptureJob {
  readonly type: 'capture';
  readonly root: string;
  /** What the root was when the caller opened it. */
  readonly ino: bigint;
  readonly rules: {
    readonly limits: Limits;
    readonly ignore: readonly string[];
    readonly reserved: ReadonlySet<string>;
    readonly onUnreadable: 'fail' | 'omit';
    readonly quiescent: boolean;
    readonly racyFromNs: bigint;
    readonly trustSignatures: boolean;
  };
  readonly previous: StatTableParts | undefined;
  /** What need not be stored; `undefined` when nothing is stored at all. */
  readonly closure: LookupParts | undefined;
  /** What another thread notes of the same tree meanwhile. */
  readonly scouted: ScoutParts | undefined;
  /** See {@link controlWords}. */
  readonly control: SharedArrayBuffer;
  /** Brings back frame buffers that may be filled again. */
  readonly spares: MessagePort;
}

/** Words of the shared control block: set to 1 to abort; raw KiB on their way that nobody has taken yet. */
export const controlWords = { abort: 0, onTheWay: 1, count: 2 } as const;

/** Raw KiB that may be on their way before the capture waits. */
export const mostOnTheWay: number = 16 * 1024;

export interface CompressJob {
  readonly type: 'compress';
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly compression: Compression;
}

export interface ExpandJob {
  readonly type: 'expand';
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly frames: readonly StoredFrame[];
}

/** Expands frames and writes the files that are wanted of them, in place of whoever asks. */
export interface WriteJob {
  readonly type: 'write';
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly frames: readonly WrittenFrame[];
  /** The open directory below which their directories stand, as `shareDirectory` names it. */
  readonly root: string;
}

/** A frame with what becomes of the objects that are wanted of it. */
export interface WrittenFrame extends StoredFrame {
  /** Per object the path of its file below the root, joined by NUL. */
  readonly paths: Uint8Array;
  /** Per object the mode of its file. */
  readonly modes: Uint16Array;
}

/** Looks at the same tree as a capture, from its end. */
export interface ScoutJob {
  readonly type: 'scout';
  readonly id: number;
  readonly root: string;
  readonly ino: bigint;
  readonly previous: StatTableParts;
  readonly parts: ScoutParts;
}

export type EngineJob = CaptureJob | CompressJob | ExpandJob | ScoutJob | WriteJob;

/** What became of a `WriteJob`. */
export interface WrittenFiles {
  /** Per frame and object: 1 when its bytes had its key and are in its file. */
  readonly written: readonly Uint8Array[];
  /** `false` when a mode did not stick. */
  readonly modesKept: boolean;
}

/** Objects of a frame: per object 32 bytes key, then kind, offset and length as three u32. */
export interface RawFrameMessage {
  readonly type: 'frame';
  readonly group: 'data' | 'trees';
  readonly bytes: Uint8Array;
  readonly objects: Uint8Array;
}

export type EngineReply =
  | RawFrameMessage
  | { readonly type: 'progress'; readonly totals: CaptureTotals }
  | {
      readonly type: 'captured';
      readonly result: Omit<CaptureResult, 'table'>;
      readonly table: StatTableParts;
    }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly error: TransferredError }
  | {
      readonly type: 'compressed';
      readonly id: number;
      readonly codec: number;
      readonly bytes: Uint8Array;
      readonly spare: ArrayBuffer | undefined;
    }
  | { readonly type: 'scouted'; readonly id: number }
  | { readonly type: 'written'; readonly id: number; readonly result: WrittenFiles }
  | { readonly type: 'expanded'; readonly id: number; readonly frames: readonly ExpandedFrame[] | undefined };
