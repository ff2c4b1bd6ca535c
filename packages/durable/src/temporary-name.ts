import { type Random, randomHex, systemRandom } from '@holdfast/base';

/** What a name of ours stands for: a file being written, or something renamed away to be deleted. */
export type TemporaryKind = 'file' | 'trash';

export interface TemporaryName {
  readonly kind: TemporaryKind;
  /** Who made it: whoever knows that this operation is over may delete what has the name. */
  readonly operation: string;
}

/** Names who is at work, so that what a crash left behind can be attributed. */
export interface OperationOptions {
  /**
   * `[a-z0-9][a-z0-9-]*`, at most 64 characters, part of every temporary name; default: a random one per process.
   * Choose one that recovery can look up.
   */
  readonly operation?: string | undefined;
  readonly random?: Random | undefined;
}

const prefixes = { file: '.holdfast-tmp-', trash: '.holdfast-trash-' } as const;
const operationGrammar = /^[a-z0-9][a-z0-9-]{0,63}$/;
const temporaryGrammar = /^\.holdfast-(tmp|trash)-([a-z0-9][a-z0-9-]{0,63})-[0-9a-f]{16}$/;

let processOperation: string | undefined;

/** Returns a fresh name for something temporary. */
export function temporaryName(kind: TemporaryKind, options: OperationOptions): Uint8Array {
  const random = options.random ?? systemRandom;
  const operation = options.operation ?? (processOperation ??= `p${randomHex(systemRandom, 8)}`);
  if (!operationGrammar.test(operation)) {
    throw new TypeError(`operation ${JSON.stringify(operation)} does not match ${operationGrammar.source}`);
  }
  return Buffer.from(`${prefixes[kind]}${operation}-${randomHex(random, 8)}`, 'latin1');
}

/** Tells whether a name was made by {@link temporaryName}, and by which operation; `undefined` for any other name. */
export function parseTemporaryName(name: Uint8Array): TemporaryName | undefined {
  // The cheap test first: sweeps meet a million names that are not ours.
  if (name[0] !== 0x2e || name.length > 110) return undefined;
  const match = temporaryGrammar.exec(Buffer.from(name).toString('latin1'));
  if (match === null) return undefined;
  return { kind: match[1] === 'tmp' ? 'file' : 'trash', operation: match[2] as string };
}
