import { SessionNotFoundError } from '@holdfast/journal';
import { RefNotFoundError, type VerifyProblem, type VerifyReport } from '@holdfast/workspacestore';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRef } from '../ref-argument.js';
import type { LocalStack } from '../stack.js';
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
    const problems = [...report.problems];
    if (subject === 'all') problems.push(...(await missingFrom(stack, report, context.io.signal)));
    await context.result({ ...report, problems }, () => reportText({ ...report, problems }));
    return problems.length === 0 ? exitStatus.done : exitStatus.failed;
  },
};

/** What the journals need and the store does not have: a store can be whole and lack everything. */
async function missingFrom(
  stack: LocalStack,
  { problems }: VerifyReport,
  signal: AbortSignal,
): Promise<VerifyProblem[]> {
  const reported = new Set(problems.map(({ ref }) => ref));
  const found: VerifyProblem[] = [];
  for await (const required of stack.requiredRefs({ signal })) {
    const { kind, id, title } = required;
    const who = `${kind} ${title ?? id}`;
    if ('ref' in required) {
      const { ref } = required;
      if (reported.has(ref) || (await stack.store.has(ref, { signal }))) continue;
      reported.add(ref);
      const { code } = RefNotFoundError;
      found.push({ ref, code, message: `${who} needs it, and the store has no record of it` });
    } else if (required.problem === 'lost') {
      const message = `the journal of ${who} was lost; what it needed cannot be told`;
      found.push({ key: `${kind}s/${id}`, code: SessionNotFoundError.code, message });
    } else {
      const { code, message } = required.problem;
      found.push({ key: `${kind}s/${id}`, code, message });
    }
  }
  return found;
}

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
