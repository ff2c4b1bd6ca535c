/**
 * What one loop has seen of its files, so that a tool can refuse to change what the model does not know. Kept in memory
 * only: never journalled, never shown to the model. Dropped as a whole by shell runs and restores.
 */
export interface Observations {
  /** Remembers a complete read: `sha256` is the hex digest of the bytes. */
  sawContent(path: string, sha256: string): void;
  /** Remembers that nothing is there. */
  sawNothing(path: string): void;
  /** What is known of a path; `undefined`: nothing. */
  known(path: string): Observation | undefined;
  forget(path: string): void;
  forgetAll(): void;
}

/** One fact about a path. */
export type Observation = { readonly kind: 'content'; readonly sha256: string } | { readonly kind: 'absent' };

/** Makes an empty set of observations. */
export function createObservations(): Observations {
  const seen = new Map<string, Observation>();
  return {
    sawContent: (path, sha256) => void seen.set(path, { kind: 'content', sha256 }),
    sawNothing: (path) => void seen.set(path, { kind: 'absent' }),
    known: (path) => seen.get(path),
    forget: (path) => void seen.delete(path),
    forgetAll: () => {
      seen.clear();
    },
  };
}
