import type { CollectReport, RetentionPolicy } from '@holdfast/workspacestore';

import { type ParsedArguments, parseCount, parseDuration } from '../arguments.js';
import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { bytesText, countText } from '../text.js';

export const gcCommand: Command = {
  spec: {
    name: 'gc',
    summary: 'delete what no session and no root of this home needs',
    arguments: [],
    options: [
      {
        name: 'keep-last',
        value: 'N',
        help: 'keep the newest N checkpoints of every session and every root (default: all)',
      },
      { name: 'keep-within', value: 'D', help: 'keep checkpoints younger than this (units: s, m, h, d)' },
      { name: 'grace', value: 'D', help: 'leave alone what was stored more recently than this' },
      {
        name: 'forget',
        value: 'ID',
        repeatable: true,
        help: 'give up what the session or root with this id needed, whose journal is gone (see: holdfast verify; repeatable)',
      },
      { name: 'dry-run', help: 'say what would be deleted and delete nothing' },
    ],
    example: 'holdfast gc --keep-last 20 --keep-within 7d --dry-run',
  },
  run: async (context) => {
    const { arguments: parsed } = context;
    const retention = retentionOf(parsed);
    const grace = parsed.value('grace');
    const stack = await context.stack();
    const report = await stack.collect({
      retention,
      forget: parsed.values('forget'),
      dryRun: parsed.flag('dry-run'),
      signal: context.io.signal,
      ...(grace === undefined ? {} : { graceMs: parseDuration(grace, 'grace') }),
    });
    await context.result(report, () => reportText(report));
    return exitStatus.done;
  },
};

function retentionOf(parsed: ParsedArguments): RetentionPolicy | undefined {
  const last = parsed.value('keep-last');
  const within = parsed.value('keep-within');
  if (last === undefined && within === undefined) return undefined;
  return {
    ...(last === undefined ? {} : { keepLast: parseCount(last, 'keep-last') }),
    ...(within === undefined ? {} : { keepWithinMs: parseDuration(within, 'keep-within') }),
  };
}

function reportText({ dryRun, deleted, kept, missing }: CollectReport): string {
  const verb = dryRun ? 'would delete' : 'deleted';
  const lines = [
    `${verb} ${countText(deleted.archives, 'archive')} (${bytesText(deleted.bytes)}) and ${countText(deleted.records, 'record')}; ` +
      `kept ${countText(kept.archives, 'archive')} (${bytesText(kept.bytes)})`,
  ];
  for (const ref of missing) lines.push(`a journal names ${ref}, which is not in the store`);
  return `${lines.join('\n')}\n`;
}
