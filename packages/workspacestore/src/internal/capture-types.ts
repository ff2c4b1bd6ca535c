import type { NodeKind, Stat } from '@holdfast/durable';

import type { Limits } from '../limits.js';
import type { OmitReason } from '../tree.js';
import type { IgnoreMatcher } from './ignore-matcher.js';
import type { ObjectKind } from './object-key.js';
import type { StatTable } from './stat-table.js';

/** What a capture is told. */
export interface CaptureRules {
  readonly limits: Limits;
  readonly ignore: IgnoreMatcher;
  /** Paths (one-byte text) that belong to the caller's own machinery and are left out. */
  readonly reserved: ReadonlySet<string>;
  readonly onUnreadable: 'fail' | 'omit';
  /** Fail instead of report when something moves. */
  readonly quiescent: boolean;
  /** Start of the scan minus the margin of the file system's clock; what changed later is read again next time. */
  readonly racyFromNs: bigint;
  /** Whether signatures of this file system can be trusted at all. */
  readonly trustSignatures: boolean;
}

/** Where the objects of a capture go. */
export interface ObjectSink {
  /** Tells whether the object needs no storing. */
  has(kind: ObjectKind, key: Uint8Array): boolean;
  /** Takes an object; the bytes are copied. */
  add(kind: ObjectKind, key: Uint8Array, bytes: Uint8Array): void;
}

/** Something that was left out. */
export interface CaptureOmission {
  readonly path: Uint8Array;
  readonly reason: OmitReason | 'ignored';
  readonly kind: NodeKind;
  readonly stat: Stat | undefined;
}

/** Metadata that was seen and is not part of a tree. */
export interface CaptureDrop {
  readonly path: Uint8Array;
  readonly what: 'setuid' | 'setgid' | 'sticky';
}

export interface CaptureTotals {
  entries: number;
  files: number;
  bytes: number;
  filesRead: number;
  bytesRead: number;
}

/** A captured tree. */
export interface CaptureResult {
  readonly table: StatTable;
  readonly treeKey: Uint8Array;
  readonly rootMode: number;
  /** In ascending byte order of paths. */
  readonly omitted: readonly CaptureOmission[];
  readonly dropped: readonly CaptureDrop[];
  readonly raced: readonly Uint8Array[];
  readonly totals: CaptureTotals;
  /**
   * Marks the rows that turn out not to be trusted; the table is final when it resolves. It competes for this thread: to
   * be called, once, when nobody waits for anything else.
   */
  readonly settle?: (() => Promise<void>) | undefined;
}
