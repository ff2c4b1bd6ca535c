import type { CheckpointCause, SessionEvent } from '@holdfast/journal';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { sessionEvents } from '../session-access.js';
import { bytesText, countText, printable } from '../text.js';

/** One row of the timeline. */
interface LogRow {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly type: string;
  readonly trigger?: string | undefined;
  readonly cause?: CheckpointCause | undefined;
  readonly ref?: string | undefined;
  /** Files read because they were new or changed. */
  readonly changed?: number | undefined;
  /** Bytes stored. */
  readonly bytes?: number | undefined;
}

export const sessionLogCommand: Command = {
  spec: {
    name: 'session log',
    summary: 'show the timeline of a session: checkpoints, restores, turns',
    arguments: [{ name: 'ID', help: 'session id (see: holdfast session list)' }],
    options: [],
    example: 'holdfast session log 0k3v9c2m-4f7a',
  },
  run: async (context) => {
    const stack = await context.stack();
    const id = context.arguments.positionals[0] as string;
    const rows: LogRow[] = [];
    for await (const event of sessionEvents(stack, id, context.io.signal)) rows.push(logRow(event));
    await context.result(rows, () => rows.map(rowText).join(''));
    return exitStatus.done;
  },
};

function logRow(event: SessionEvent): LogRow {
  const { seq, time, type } = event;
  switch (event.type) {
    case 'WorkspaceCheckpointed': {
      const { ref, trigger, cause, stats } = event.body;
      return { seq, time, type, trigger, cause, ref, changed: stats.filesRead, bytes: stats.bytesStored };
    }
    case 'WorkspaceCheckpointFailed':
      return { seq, time, type, trigger: event.body.trigger, cause: event.body.cause };
    case 'WorkspaceRestored':
      return { seq, time, type, ref: event.body.ref };
    default:
      return { seq, time, type };
  }
}

function rowText(row: LogRow): string {
  const parts = [
    String(row.seq).padStart(5),
    new Date(row.time).toISOString(),
    printable(row.type).padEnd(24),
  ];
  if (row.trigger !== undefined) parts.push(row.trigger.padEnd(9));
  if (row.cause?.turn !== undefined) parts.push(`turn ${printable(row.cause.turn)}`);
  if (row.changed !== undefined) parts.push(countText(row.changed, 'file'));
  if (row.bytes !== undefined) parts.push(bytesText(row.bytes));
  if (row.ref !== undefined) parts.push(row.ref);
  return `${parts.join('  ')}\n`;
}
