import { equalBytes } from '@holdfast/base';

import { AppendVerifyError, LedgerAmbiguousError, LedgerConflictError } from '../errors.js';
import type { AppendResult, Ledger } from '../ledger.js';

/**
 * Turns an ambiguous append into a definite one.
 *
 * 1. Append. Ok or a definite failure: done.
 * 2. Unknown: the identical append once more. Ok: done.
 * 3. Compare what is stored after `expectedTip` with our bytes. Equal: done. Others: a definite conflict, since the
 *    position is taken for ever. Nothing there: still unknown, because the first write may yet arrive.
 */
export async function settleAppend(
  ledger: Ledger,
  name: string,
  expectedTip: number,
  records: readonly Uint8Array[],
  signal: AbortSignal | undefined,
): Promise<AppendResult> {
  let first: unknown;
  try {
    return await ledger.append(name, expectedTip, records, { signal });
  } catch (error) {
    if (!LedgerAmbiguousError.is(error)) throw error;
    first = error;
  }
  const causes: unknown[] = [first];
  try {
    return await ledger.append(name, expectedTip, records);
  } catch (error) {
    causes.push(error);
  }
  try {
    const stored = await compare(ledger, name, expectedTip, records);
    if (stored === 'ours') return { tip: expectedTip + records.length };
    if (stored !== 'nothing') {
      throw new LedgerConflictError(name, expectedTip, stored.tip, { cause: new AggregateError(causes) });
    }
  } catch (error) {
    if (LedgerConflictError.is(error)) throw error;
    causes.push(error);
  }
  throw new AppendVerifyError(name, expectedTip, {
    cause: new AggregateError(causes, 'append, retry and read-back'),
  });
}

async function compare(
  ledger: Ledger,
  name: string,
  expectedTip: number,
  records: readonly Uint8Array[],
): Promise<'ours' | 'nothing' | { readonly tip: number }> {
  const tip = await ledger.tip(name);
  // Also when the tip is below the expected one: others may bring it there before the first write arrives.
  if (tip <= expectedTip) return 'nothing';
  let index = 0;
  for await (const record of ledger.read(name, { from: expectedTip + 1, limit: records.length })) {
    if (!equalBytes(record.data, records[index] as Uint8Array)) return { tip };
    index += 1;
  }
  return index === records.length ? 'ours' : { tip };
}
