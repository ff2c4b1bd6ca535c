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

/** Runs `body` and keeps the disk before every change, after every acknowledgement, and at the end. */
export async function record<Fact>(
  fileSystem: ModelFileSystem,
  ackedBefore: readonly Fact[],
  body: (context: { ack(fact: Fact): void; readonly acked: readonly Fact[] }) => unknown,
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
  // What was acknowledged last meets the disk as it is at the end, and at every change after it.
  keep(undefined);
  return { points, operations };
}
