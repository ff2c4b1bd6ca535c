import type { Ref } from './ref.js';

/** Something that verification found wrong. */
export interface VerifyProblem {
  /** The snapshot that is affected, where one is. */
  readonly ref?: string | undefined;
  /** Path text inside the snapshot, where the damage is in one. */
  readonly path?: string | undefined;
  /** Name of the stored object, where the damage is in one. */
  readonly key?: string | undefined;
  /** Code of the error that a reader would meet. */
  readonly code: string;
  readonly message: string;
}

/** What a verification has looked at and found. */
export interface VerifyReport {
  /** Refs whose trees were walked. */
  readonly refs: number;
  /** Entries of those trees. */
  readonly entries: number;
  /** Stored objects (blobs) that were looked at. */
  readonly blobs: number;
  /** Bytes that were read and checked; 0 when shallow. */
  readonly bytes: number;
  readonly problems: readonly VerifyProblem[];
  /** Names in the store that are not of this store's making; left alone. */
  readonly foreign: readonly string[];
}

export interface VerifyOptions {
  /** Read and check every byte; default `false`: records, indexes and trees, and that all content has its place. */
  readonly deep?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: { readonly blobs: number; readonly bytes: number }) => void) | undefined;
}

/** What to verify: one snapshot, or the whole store. */
export type VerifySubject = Ref | 'all';
