import type { RestorePlan } from '@holdfast/restore';

import type { CommandContext } from '../command.js';
import { ConfirmationError } from '../errors.js';
import { planText } from './plan-text.js';

/**
 * Whether the call must ask before it changes anything. `looks`: whether the command has `--dry-run`.
 * @throws ConfirmationError when it must and nobody can answer; asked before anything is opened.
 */
export function asksFor(context: CommandContext, looks: boolean = true): boolean {
  const { arguments: parsed, io } = context;
  const asks = !parsed.flag('dry-run') && !parsed.flag('yes') && !context.json;
  if (asks && !io.stdin.isTerminal) throw new ConfirmationError('no-terminal', looks);
  return asks;
}

/** Shows the plan, where there is one, and asks. @throws ConfirmationError when the answer is not yes. */
export async function confirmPlan(context: CommandContext, plan: RestorePlan | undefined): Promise<void> {
  await context.note(
    plan === undefined
      ? 'the owner of this live session is of an older version and cannot show what would change'
      : planText(plan).trimEnd(),
  );
  await confirm(context, plan === undefined ? 'go ahead?' : 'apply this plan?');
}

/** Asks. @throws ConfirmationError when the answer is not yes. */
export async function confirm(context: CommandContext, question: string): Promise<void> {
  await context.progress.clear();
  await context.io.stderr.write(`${question} [y/N] `);
  const answer = await context.io.stdin.readLine();
  if (answer === undefined || !/^y(es)?$/i.test(answer.trim())) throw new ConfirmationError('declined');
}
