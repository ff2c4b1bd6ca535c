import type { Change, RestorePlan, RestoreReceipt, Skipped } from '@holdfast/restore';

import type { CommandContext } from '../command.js';
import { bytesText, countText, durationText, pathText, printable, shellWord } from '../text.js';

const shownPaths = 10;

/** A call of the command for people to copy, over the same home as this one. */
export function callText(context: CommandContext, ...words: readonly string[]): string {
  const home = context.arguments.value('home') === undefined ? [] : ['--home', context.home];
  return ['holdfast', ...words, ...home].map(shellWord).join(' ');
}

/** A plan for people: numbers first, then the first paths of every kind. */
export function planText(plan: RestorePlan): string {
  const groups: (readonly [string, readonly Change[]])[] = [
    ['delete', plan.delete],
    ['change type of', plan.retype],
    ['replace', plan.replace],
    ['create', plan.create],
    ['make directory', plan.mkdir],
    ['change mode of', plan.chmod],
  ];
  const lines = [
    `plan to restore ${plan.ref} (${plan.strategy})`,
    `  ${plan.create.length} created, ${plan.replace.length} replaced, ${plan.retype.length} retyped, ` +
      `${plan.delete.length} deleted, ${plan.chmod.length} mode changes, ${plan.mkdir.length} directories made, ` +
      `${plan.keep} kept; ${bytesText(plan.bytes)} to write`,
  ];
  for (const [verb, changes] of groups) {
    for (const change of changes.slice(0, shownPaths)) lines.push(`  ${verb} ${pathText(change.path)}`);
    if (changes.length > shownPaths) lines.push(`  ${verb} … ${changes.length - shownPaths} more`);
  }
  lines.push(...skippedLines(plan.omitted));
  for (const conflict of plan.conflicts)
    lines.push(`  conflict: ${pathText(conflict.path)} (${conflict.reason})`);
  if (!plan.exact)
    lines.push('  the result will not be exactly the snapshot: what is listed above as not touched stays');
  if (plan.omitted.some(({ reason }) => reason === 'not-pruned'))
    lines.push('  to remove what is listed as not-pruned too: --prune exact');
  return `${lines.join('\n')}\n`;
}

/** A receipt for people, with the command that takes the restore back. */
export function receiptText(receipt: RestoreReceipt, undo: string): string {
  const lines = [
    `restored ${receipt.ref} (${receipt.strategy}) in ${durationText(receipt.durationMs)}`,
    `  ${receipt.created} created, ${receipt.replaced} replaced, ${receipt.retyped} retyped, ${receipt.deleted} deleted, ` +
      `${receipt.chmodded} mode changes, ${receipt.kept} kept; ${bytesText(receipt.bytesWritten)} written; ` +
      `verified: ${receipt.verified}; exact: ${receipt.exact ? 'yes' : 'no'}`,
    ...skippedLines(receipt.omitted),
  ];
  const left = new Set(receipt.omitted.filter(({ reason }) => reason === 'conflict').map(({ path }) => path));
  for (const { path, reason } of receipt.conflicts) {
    lines.push(
      `  changed meanwhile, ${left.has(path) ? 'skipped' : 'overwritten'}: ${pathText(path)} (${reason})`,
    );
  }
  for (const { detail, paths = [] } of receipt.notes ?? []) {
    lines.push(`  note: ${printable(detail)}`);
    for (const path of paths.slice(0, shownPaths)) lines.push(`    ${pathText(path)}`);
    if (paths.length > shownPaths) lines.push(`    ${countText(paths.length - shownPaths, 'more path')}`);
  }
  if (receipt.safetyRef !== undefined) lines.push(`  to undo: ${undo}`);
  return `${lines.join('\n')}\n`;
}

function skippedLines(skipped: readonly Skipped[]): string[] {
  const lines = skipped
    .slice(0, shownPaths)
    .map(({ path, reason }) =>
      reason === 'unrestorable'
        ? `  cannot be brought back (the snapshot does not hold it): ${pathText(path)}`
        : `  not touched (${reason}): ${pathText(path)}`,
    );
  if (skipped.length > shownPaths)
    lines.push(`  not touched or brought back: ${countText(skipped.length - shownPaths, 'more path')}`);
  return lines;
}
