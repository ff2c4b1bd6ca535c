import type { LeaseOwner } from '@holdfast/lease';

/** Who has a lease, as stored in the bucket whose entries age. */
export interface LeaseRecord {
  readonly nonce: string;
  readonly epoch: number;
  readonly owner: LeaseOwner | undefined;
  /** Given back, and kept only until it has aged. */
  readonly released: boolean;
}

/** The last epoch of a name, as stored where nothing ages, and who took it. */
export interface EpochRecord {
  readonly epoch: number;
  readonly nonce: string;
}

const encoder = new TextEncoder();

export function encodeRecord(record: LeaseRecord | EpochRecord): Uint8Array {
  return encoder.encode(JSON.stringify({ v: 1, ...record }));
}

/** @throws SyntaxError when it cannot be read: damage says nothing about its holder. */
export function decodeLease(bytes: Uint8Array): LeaseRecord {
  const { nonce, epoch, owner, released } = parse(bytes);
  if (typeof nonce !== 'string' || !isEpoch(epoch)) throw new SyntaxError('a lease record is damaged');
  const isOwner = typeof owner === 'object' && owner !== null && !Array.isArray(owner);
  return { nonce, epoch, owner: isOwner ? (owner as LeaseOwner) : undefined, released: released === true };
}

/** @throws SyntaxError when it cannot be read: a counter that is not known must not be counted from 1. */
export function decodeEpoch(bytes: Uint8Array): EpochRecord {
  const { nonce, epoch } = parse(bytes);
  if (typeof nonce !== 'string' || !isEpoch(epoch)) throw new SyntaxError('an epoch record is damaged');
  return { nonce, epoch };
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  if (typeof value !== 'object' || value === null) throw new SyntaxError('no record');
  return value as Record<string, unknown>;
}

function isEpoch(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
