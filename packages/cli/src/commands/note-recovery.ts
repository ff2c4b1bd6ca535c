import type { RecoveryResult } from '@holdfast/restore';

import type { CommandContext } from '../command.js';

/** Tells people when opening a root had to finish or undo an interrupted restore. */
export async function noteRecovery(context: CommandContext, recovered: RecoveryResult): Promise<void> {
  if (recovered.action === 'none') return;
  await context.note(recoveryText(recovered));
}

/** One line that says what a recovery did. */
export function recoveryText(recovered: RecoveryResult): string {
  const restore = recovered.ref === undefined ? '' : ` of ${recovered.ref}`;
  switch (recovered.action) {
    case 'none':
      return 'nothing to recover';
    case 'cleaned':
      return 'removed what a finished or never started restore had left behind; the tree is as it was';
    case 'undone':
      return `an interrupted restore${restore} was undone; the tree is as it was before it`;
    case 'kept':
      return `an interrupted restore${restore} had been completed; the tree is its result`;
    case 'quarantined':
      return 'unreadable restore scratch was moved aside into a quarantine directory; the tree is as it was found';
  }
}
