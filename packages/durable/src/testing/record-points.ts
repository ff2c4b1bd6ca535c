import type { ModelFileSystem } from './model/model-file-system.js';

/** A moment at which a crash may come. */
export interface RecordedPoint<Fact> {
  /** The disk at that moment, what is pending included. */
  readonly disk: ModelFileSystem;
  readonly afterOperations: number;
  /** The change that would have been next; `undefined` at the end. */
  readonly before: string | undefined;
  readonly acked: readonly Fact[];
}

/**
 * Runs `body` and keeps the disk before every change and at the end. An acknowledgement counts from the next of these
 * points on: nothing changes on the disk between it and that point.
 */
export async function record<Fact>(
  fileSystem: ModelFileSystem,
  ackedBefore: readonly Fact[],
  body: (context: { readonly ack: (fact: Fact) => void; readonly acked: readonly Fact[] }) => unknown,
): Promise<{ readonly points: readonly RecordedPoint<Fact>[]; readonly operations: readonly string[] }> {
  const points: RecordedPoint<Fact>[] = [];
  const operations: string[] = [];
  let acked = ackedBefore;
  const keep = (before: string | undefined): void => {
    points.push({ disk: fileSystem.fork(), afterOperations: operations.length, before, acked });
  };
  fileSystem.beforeChange = ({ operation, path }) => {
    const text = `${operation} ${path}`;
    keep(text);
    operations.push(text);
  };
  try {
    await body({
      get acked() {
        return acked;
      },
      ack: (fact) => {
        acked = [...acked, fact];
      },
    });
  } finally {
    fileSystem.beforeChange = undefined;
  }
  keep(undefined);
  return { points, operations };
}
