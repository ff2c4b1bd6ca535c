import { encodePathText } from '@holdfast/base';
import type { RestoreReceipt } from '@holdfast/restore';
import type { Tree } from '@holdfast/workspacestore';

/** Reasons that only concern what the snapshot does not hold. */
const notWanted: ReadonlySet<string> = new Set(['not-pruned', 'target-omitted', 'unrestorable']);

/**
 * Whether a restore left something undone that its snapshot asked for: a conflict that was skipped, or something left
 * alone where the snapshot has an entry. What the snapshot does not hold and `prune` keeps is not part of it.
 */
export function isPartial(receipt: RestoreReceipt, target: Tree): boolean {
  if (receipt.omitted.some(({ reason }) => reason === 'conflict')) return true;
  const left = receipt.omitted.filter(({ reason }) => !notWanted.has(reason));
  if (left.length === 0) return false;
  const wanted = new Set(target.entries.map(({ path }) => encodePathText(path)));
  return left.some(({ path }) => wanted.has(path));
}
