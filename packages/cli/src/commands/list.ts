import type { Ref } from '@holdfast/workspacestore';

import { parseCount } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { exitStatus } from '../command.js';
import { UsageError } from '../errors.js';
import { type RecordedSnapshot, recordedSnapshots, type UnreadJournal } from '../recorded-snapshots.js';
import { locateRoot } from '../root-argument.js';
import type { LocalStack } from '../stack.js';
import { countText, printable } from '../text.js';

/** A row of the list. */
interface ListRow extends RecordedSnapshot {
  /** Whether it is in the store; `false` after a collection that was told to let it go. */
  readonly stored: boolean;
}

export const listCommand: Command = {
  spec: {
    name: 'list',
    summary: 'list the snapshots of a directory, newest first: time, ref, trigger, session',
    arguments: [
      {
        name: 'ROOT',
        optional: true,
        help: 'directory; it need not exist any more (default: the current one)',
      },
    ],
    options: [
      { name: 'all', help: 'those of every directory and session of this home, and imports' },
      { name: 'limit', value: 'N', help: 'only the newest N (default: all)' },
    ],
    example: 'holdfast list ./project --limit 10',
  },
  run: async (context) => {
    const { arguments: parsed, io } = context;
    const all = parsed.flag('all');
    const named = parsed.positionals[0];
    if (all && named !== undefined)
      throw new UsageError('--all lists every directory; leave ROOT out', 'list');
    const limit = parsed.value('limit');
    const most = limit === undefined ? undefined : parseCount(limit, 'limit');
    const root = all ? undefined : await locateRoot(named ?? '.', io.cwd);
    const stack = await context.stack();
    const { snapshots, unread } = await recordedSnapshots(stack, root, io.signal);
    const rows = await withStored(stack, snapshots.slice(0, most), io.signal);
    await context.result({ snapshots: rows, unread }, () => rows.map((row) => rowText(row, all)).join(''));
    if (snapshots.length === 0) await context.note(nothingText(root));
    if (rows.length < snapshots.length) {
      await context.note(`${countText(snapshots.length - rows.length, 'older snapshot')} not shown`);
    }
    await noteUnread(context, unread);
    return unread.length === 0 ? exitStatus.done : exitStatus.failed;
  },
};

async function withStored(
  stack: LocalStack,
  snapshots: readonly RecordedSnapshot[],
  signal: AbortSignal,
): Promise<ListRow[]> {
  const stored = new Map<string, boolean>();
  for (const { ref } of snapshots) {
    if (!stored.has(ref)) stored.set(ref, await stack.store.has(ref as Ref, { signal }));
  }
  return snapshots.map((snapshot) => ({ ...snapshot, stored: stored.get(snapshot.ref) === true }));
}

/** Enough digits to tell the snapshots of any home apart. */
const shownDigits = 12;

function rowText({ ref, time, trigger, kind, id, root, title, stored }: ListRow, all: boolean): string {
  const short = ref.slice(ref.lastIndexOf(':') + 1).slice(0, shownDigits);
  const parts = [new Date(time).toISOString(), short, trigger.padEnd(9)];
  if (all) parts.push(kind === 'imports' ? 'imported' : printable(root ?? 'no directory'));
  if (kind === 'session') parts.push(`session ${id}`);
  if (title !== null) parts.push(printable(title));
  if (!stored) parts.push('(collected: not in the store any more)');
  return `${parts.join('  ').trimEnd()}\n`;
}

function nothingText(root: string | undefined): string {
  return root === undefined
    ? 'this home has no snapshots'
    : `no snapshots of ${printable(root)} in this home; --all lists those of every directory`;
}

async function noteUnread(context: CommandContext, unread: readonly UnreadJournal[]): Promise<void> {
  for (const { kind, id, title, code, message } of unread) {
    await context.note(
      `not listed: the snapshots of ${kind} ${printable(title ?? id)}: ${printable(message)} [${code}]`,
    );
  }
}
