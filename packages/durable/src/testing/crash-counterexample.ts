/** One crash on the way to a failure. */
export interface CrashStep {
  readonly kind: 'kill' | 'power';
  /** What was running: the protocol, or a recovery. */
  readonly during: 'run' | 'recover';
  /** Changes made before the crash, from 0. */
  readonly afterOperations: number;
  /** The change that was not made any more; `undefined` when all were. */
  readonly before: string | undefined;
  /** What a power loss took, as text. */
  readonly lost: readonly string[];
}

/** A crash after which the promise of a protocol does not hold. The message tells the whole story. */
export class CrashCounterexampleError extends Error {
  override readonly name = 'CrashCounterexampleError';
  readonly seed: number;
  readonly crashes: readonly CrashStep[];

  constructor(facts: {
    readonly seed: number;
    readonly crashes: readonly CrashStep[];
    readonly operations: readonly string[];
    readonly acked: readonly unknown[];
    readonly stage: 'recover' | 'check';
    readonly tree: Readonly<Record<string, string>>;
    readonly cause: unknown;
  }) {
    super(story(facts), { cause: facts.cause });
    this.seed = facts.seed;
    this.crashes = facts.crashes;
  }
}

function story(facts: {
  readonly seed: number;
  readonly crashes: readonly CrashStep[];
  readonly operations: readonly string[];
  readonly acked: readonly unknown[];
  readonly stage: 'recover' | 'check';
  readonly tree: Readonly<Record<string, string>>;
  readonly cause: unknown;
}): string {
  const [first] = facts.crashes;
  const lines = [`${facts.stage} failed after ${facts.crashes.length} crash(es), seed ${facts.seed}`];
  facts.crashes.forEach((crash, index) => {
    const what = crash.kind === 'kill' ? 'process killed' : 'power lost';
    const where = crash.before === undefined ? 'after the last change' : `before ${crash.before}`;
    lines.push(`${index + 1}. ${what} during ${crash.during}, change ${crash.afterOperations + 1}: ${where}`);
    for (const loss of crash.lost) lines.push(`     lost: ${loss}`);
  });
  lines.push(`acknowledged before: ${JSON.stringify(facts.acked)}`);
  lines.push(`cause: ${facts.cause instanceof Error ? facts.cause.message : String(facts.cause)}`);
  lines.push(`tree that ${facts.stage} saw:`);
  for (const [path, node] of Object.entries(facts.tree)) lines.push(`     ${path}: ${node.slice(0, 120)}`);
  lines.push('changes of the run:');
  facts.operations.forEach((operation, index) => {
    lines.push(
      `  ${index === first?.afterOperations ? '>' : ' '} ${String(index + 1).padStart(3)} ${operation}`,
    );
  });
  return lines.join('\n');
}
