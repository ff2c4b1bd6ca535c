import type { VerifyReport } from '@holdfast/workspacestore';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRef } from '../ref-argument.js';
import { bytesText, countText, printable } from '../text.js';

export const verifyCommand: Command = {
  spec: {
    name: 'verify',
    summary: 'check one snapshot, or everything that is stored',
    arguments: [{ name: 'REF', optional: true, help: 'snapshot to check (default: the whole store)' }],
    options: [{ name: 'deep', help: 'read and check every byte' }],
    example: 'holdfast verify --deep',
  },
  run: async (context) => {
    const stack = await context.stack();
    const [argument] = context.arguments.positionals;
    const subject = argument === undefined ? ('all' as const) : await resolveRef(stack, argument);
    const report = await stack.store.verify(subject, {
      deep: context.arguments.flag('deep'),
      signal: context.io.signal,
      onProgress: ({ blobs, bytes }) => {
        context.progress.update({ phase: 'verifying', files: blobs, bytes });
      },
    });
    await context.result(report, () => reportText(report));
    return report.problems.length === 0 ? exitStatus.done : exitStatus.failed;
  },
};

function reportText({ refs, entries, blobs, bytes, problems, foreign }: VerifyReport): string {
  const lines = [
    `${countText(refs, 'snapshot')}, ${countText(entries, 'entry', 'entries')}, ${countText(blobs, 'stored object')}, ` +
      `${bytesText(bytes)} read: ${problems.length === 0 ? 'no problems' : countText(problems.length, 'problem')}`,
  ];
  for (const { ref, path, key, code, message } of problems) {
    const where = [ref, path === undefined ? undefined : printable(path), key].filter(
      (part) => part !== undefined,
    );
    lines.push(`  ${where.join(' ')}: ${printable(message)} [${code}]`);
  }
  for (const name of foreign) lines.push(`  not ours, left alone: ${printable(name)}`);
  return `${lines.join('\n')}\n`;
}
