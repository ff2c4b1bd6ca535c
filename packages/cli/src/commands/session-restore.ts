import type { RestorePlan, RestoreReceipt } from '@holdfast/restore';
import type { RemotePreviewOptions, RemoteRestoreOptions } from '@holdfast/session';

import type { OptionSpec } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { exitStatus } from '../command.js';
import { SessionLiveError } from '../errors.js';
import { resolveSessionRef } from '../ref-argument.js';
import { accessSession, type SessionAccess } from '../session-access.js';
import { namedSession, sessionArgument } from '../session-argument.js';
import { captureOptionSpecs, captureOptions } from './capture-options.js';
import { asksFor, confirmPlan } from './confirm-plan.js';
import { isPartial } from './partial-restore.js';
import { callText, planText, receiptText } from './plan-text.js';
import { restoreOptionSpecs, sessionRestoreOptions } from './restore-options.js';

const options: readonly OptionSpec[] = [
  { name: 'dry-run', help: 'show the plan and change nothing' },
  { name: 'yes', help: 'do not ask' },
  // The session's placement decides where it prepares.
  ...restoreOptionSpecs.filter(({ name }) => name !== 'scratch'),
  ...captureOptionSpecs,
];

export const sessionRestoreCommand: Command = {
  spec: {
    name: 'session restore',
    summary: "bring a session's directory back to a snapshot",
    arguments: [sessionArgument, { name: 'REF', help: 'snapshot, a prefix of it, @last or @prev' }],
    options,
    example: 'holdfast session restore 01m8q4c54a28dpetvjfxh71cj2 @prev --dry-run',
  },
  run: async (context) =>
    await change(context, async (access) => {
      const stack = await context.stack();
      const ref = await resolveSessionRef(stack, access, context.arguments.positionals[1] as string);
      return {
        always: true,
        preview: (chosen) => access.preview(ref, chosen),
        apply: (chosen) => access.restore(ref, chosen),
      };
    }),
};

export const sessionRewindCommand: Command = {
  spec: {
    name: 'session rewind',
    summary: 'take the files and the conversation of a session back to a turn, event or checkpoint',
    arguments: [
      sessionArgument,
      { name: 'POINT', help: 'id of a turn, an event or a checkpoint (see: holdfast session log)' },
    ],
    options,
    example: 'holdfast session rewind 01m8q4c54a28dpetvjfxh71cj2 turn-4e37d4c3d025c32a --dry-run',
  },
  run: async (context) => {
    const point = context.arguments.positionals[1] as string;
    return await change(context, (access) =>
      Promise.resolve({
        preview: (chosen) => access.previewRewind(point, chosen),
        apply: (chosen) => access.rewind(point, chosen),
      }),
    );
  },
};

export const sessionUndoCommand: Command = {
  spec: {
    name: 'session undo',
    summary: 'take the last restore or rewind of a session back',
    arguments: [sessionArgument],
    options,
    example: 'holdfast session undo 01m8q4c54a28dpetvjfxh71cj2 --dry-run',
  },
  run: async (context) =>
    await change(context, (access) =>
      Promise.resolve({
        preview: (chosen) => access.previewUndo(chosen),
        apply: (chosen) => access.undo(chosen),
      }),
    ),
};

interface Intended {
  /** Whether the plan is made also when nobody looks at it. */
  readonly always?: boolean | undefined;
  /** `undefined`: the owner of the session cannot show it. */
  readonly preview: (options: RemotePreviewOptions) => Promise<RestorePlan | undefined>;
  readonly apply: (options: RemoteRestoreOptions) => Promise<RestoreReceipt>;
}

async function change(
  context: CommandContext,
  intend: (access: SessionAccess) => Promise<Intended>,
): Promise<number> {
  const chosen = sessionRestoreOptions(context);
  const asks = asksFor(context);
  const stack = await context.stack();
  const id = await namedSession(context);
  await using access = await accessSession(stack, id, context.io.signal, captureOptions(context));
  const { always = false, preview, apply } = await intend(access);
  const { paths, prune, onConflict, force } = chosen;
  const looks = context.arguments.flag('dry-run');
  const plan = always || looks || asks ? await preview({ paths, prune, onConflict, force }) : undefined;
  if (looks) {
    if (plan === undefined) {
      throw new SessionLiveError(
        id,
        'older',
        (await stack.sessions.owner(id, { signal: context.io.signal })) ?? {},
      );
    }
    await context.result(plan, () => planText(plan));
    return exitStatus.done;
  }
  if (asks) await confirmPlan(context, plan);
  const receipt = await apply({ ...chosen, plan });
  await context.result(receipt, () => receiptText(receipt, callText(context, 'session', 'undo', id)));
  // The restore is over: what comes now is too late to interrupt it.
  const target = await stack.store.openTree(receipt.ref);
  return isPartial(receipt, target) ? exitStatus.failed : exitStatus.done;
}
