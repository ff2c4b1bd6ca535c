import type { JsonValue } from '@holdfast/base';
import type { SessionEvent } from '@holdfast/journal';
import type { RestorePlan, RestoreReceipt } from '@holdfast/restore';
import type { Ref } from '@holdfast/workspacestore';

import type { SessionCheckpoint } from '../controller.js';
import type { PreviewRestoreOptions, RestoreWorkspaceOptions } from '../restore-options.js';

/** Version of the protocol: one JSON object a line, both ways. */
export const controlProtocol: number = 1;

/** The longest line, in bytes: plans of large trees are long. */
export const maxLineBytes: number = 64 * 2 ** 20;

/** What a preview can be asked for from another process. */
export type RemotePreviewOptions = Pick<PreviewRestoreOptions, 'paths' | 'prune' | 'onConflict' | 'force'>;

/** What a restore can be asked for from another process. */
export type RemoteRestoreOptions = RemotePreviewOptions &
  Pick<RestoreWorkspaceOptions, 'plan' | 'safety' | 'drain' | 'timeout' | 'verify'>;

/** Who answers. */
export interface ControlDescription {
  readonly protocol: number;
  readonly sessionId: string;
  readonly pid: number;
  readonly phase: string;
  /** Reason of the fault; `null` when there is none. */
  readonly fault: string | null;
  readonly root: string | null;
}

/** A part of the journal's events. */
export interface EventsPage {
  readonly events: readonly SessionEvent[];
  /** Where the next page begins; `null` at the end. */
  readonly next: number | null;
}

/** What another process can ask the owner of a session: parameters and results by method. All JSON. */
export interface ControlMethods {
  readonly describe: { readonly params: Record<string, never>; readonly result: ControlDescription };
  readonly events: {
    readonly params: { readonly from?: number | undefined; readonly limit?: number | undefined };
    readonly result: EventsPage;
  };
  readonly checkpoints: {
    readonly params: Record<string, never>;
    readonly result: readonly SessionCheckpoint[];
  };
  readonly checkpoint: { readonly params: Record<string, never>; readonly result: Ref };
  readonly preview: {
    readonly params: { readonly ref: string; readonly options?: RemotePreviewOptions | undefined };
    readonly result: RestorePlan;
  };
  readonly restore: {
    readonly params: { readonly ref: string; readonly options?: RemoteRestoreOptions | undefined };
    readonly result: RestoreReceipt;
  };
  readonly rewind: {
    readonly params: { readonly point: string; readonly options?: RemoteRestoreOptions | undefined };
    readonly result: RestoreReceipt;
  };
  /** What `rewind` would do to the files. Owners of an older version do not know it. */
  readonly previewRewind: {
    readonly params: { readonly point: string; readonly options?: RemotePreviewOptions | undefined };
    readonly result: RestorePlan;
  };
  /** What `undo` would do. Owners of an older version do not know it. */
  readonly previewUndo: {
    readonly params: { readonly options?: RemotePreviewOptions | undefined };
    readonly result: RestorePlan;
  };
  readonly undo: {
    readonly params: { readonly options?: RemoteRestoreOptions | undefined };
    readonly result: RestoreReceipt;
  };
  readonly interrupt: { readonly params: { readonly reason?: string | undefined }; readonly result: null };
  /** Every ref that the session needs. */
  readonly refs: { readonly params: Record<string, never>; readonly result: readonly string[] };
}

/** A method of the protocol. */
export type ControlMethod = keyof ControlMethods;

/** From the client: a call, or the cancellation of one. */
export type ControlRequest =
  | { readonly id: number; readonly method: string; readonly params: JsonValue }
  | { readonly cancel: number };

/** From the owner. */
export type ControlResponse =
  | { readonly id: number; readonly result: JsonValue }
  | { readonly id: number; readonly error: Readonly<Record<string, JsonValue>> };
