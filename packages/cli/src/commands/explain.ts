import type { Explanation } from '@holdfast/workspacestore';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { resolveRef } from '../ref-argument.js';
import type { RefHolder } from '../stack.js';
import { bytesText, countText, printable } from '../text.js';

export const explainCommand: Command = {
  spec: {
    name: 'explain',
    summary: 'say what keeps a snapshot in the store',
    arguments: [{ name: 'REF', help: 'snapshot to explain' }],
    options: [],
    example: 'holdfast explain 3f9a0c1d',
  },
  run: async (context) => {
    const stack = await context.stack();
    const ref = await resolveRef(stack, context.arguments.positionals[0] as string);
    const { signal } = context.io;
    const stored = await stack.store.explain(ref, { signal });
    const holders: RefHolder[] = [];
    for await (const holder of stack.holdersOf(ref, { signal })) holders.push(holder);
    await context.result({ ...stored, holders }, () => explanationText(stored, holders));
    return exitStatus.done;
  },
};

function explanationText({ ref, records, bytes }: Explanation, holders: readonly RefHolder[]): string {
  const lines = [`${ref}: ${countText(records.length, 'record')}, needs ${bytesText(bytes)} of archives`];
  for (const { hold, held, archives } of records) {
    lines.push(
      `  record ${hold}, ${countText(archives, 'archive')}${held ? ', held until its event is durable' : ''}`,
    );
  }
  for (const { kind, id, title } of holders) {
    lines.push(`  needed by ${kind} ${printable(title ?? id)}${title === undefined ? '' : ` (${id})`}`);
  }
  if (holders.length === 0) lines.push('  no journal of this home needs it: the next gc deletes it');
  return `${lines.join('\n')}\n`;
}
