import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { withPathsOf } from '../path-argument.js';
import { resolveRef } from '../ref-argument.js';
import { resolveRoot } from '../root-argument.js';
import { captureOptionSpecs } from './capture-options.js';
import { asksFor, confirmPlan } from './confirm-plan.js';
import { noteRecovery } from './note-recovery.js';
import { isPartial } from './partial-restore.js';
import { callText, planText, receiptText } from './plan-text.js';
import { restoreOptionSpecs, restoreOptions, scratchOption } from './restore-options.js';

export const restoreCommand: Command = {
  spec: {
    name: 'restore',
    summary: 'bring a directory back to a snapshot, in place',
    arguments: [
      { name: 'REF', help: 'snapshot to restore (a unique prefix of at least 8 hex digits will do)' },
      { name: 'ROOT', help: 'directory to change' },
    ],
    options: [
      { name: 'dry-run', help: 'show the plan and change nothing' },
      { name: 'yes', help: 'do not ask' },
      ...restoreOptionSpecs,
      ...captureOptionSpecs,
    ],
    example: 'holdfast restore 3f9a0c1d ./project --dry-run',
  },
  run: async (context) => {
    const { arguments: parsed, io } = context;
    const options = restoreOptions(context);
    const scratch = scratchOption(context);
    const root = await resolveRoot(parsed.positionals[1] as string, io.cwd, context.home);
    // Refused before the root is opened: opening may already recover something.
    const asks = asksFor(context);
    const stack = await context.stack();
    const ref = await resolveRef(stack, parsed.positionals[0] as string);
    const local = await stack.openRoot(root, { scratch, signal: io.signal });
    try {
      await noteRecovery(context, local.recovered);
      const plan = await withPathsOf(() => local.preview(ref, options));
      if (parsed.flag('dry-run')) {
        await context.result(plan, () => planText(plan));
        return exitStatus.done;
      }
      if (asks) await confirmPlan(context, plan);
      const receipt = await local.restore(ref, { ...options, plan });
      await context.result(receipt, () =>
        // Without pruning, directories and links that this restore made would stay.
        receiptText(receipt, callText(context, 'restore', receipt.safetyRef ?? '', root, '--prune', 'exact')),
      );
      // The restore is over: what comes now is too late to interrupt it, and must not make it look undone.
      const target = await stack.store.openTree(ref);
      return isPartial(receipt, target) ? exitStatus.failed : exitStatus.done;
    } finally {
      await local.close();
    }
  },
};
