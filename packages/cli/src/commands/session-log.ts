import type { CheckpointCause, SessionEvent } from '@holdfast/journal';

import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { sessionEvents } from '../session-access.js';
import { namedSession, sessionArgument } from '../session-argument.js';
import { bytesText, countText, printable } from '../text.js';

/** One row of the timeline. */
interface LogRow {
  readonly seq: number;
  /** Names the event, for example to `session rewind`. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly type: string;
  readonly trigger?: string | undefined;
  readonly cause?: CheckpointCause | undefined;
  /** The turn that begins or ends here, or whose checkpoint this is. */
  readonly turn?: string | undefined;
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
    arguments: [sessionArgument],
    options: [],
    example: 'holdfast session log 01m8q4c54a28dpetvjfxh71cj2',
  },
  run: async (context) => {
    const stack = await context.stack();
    const id = await namedSession(context);
    const rows: LogRow[] = [];
    for await (const event of sessionEvents(stack, id, context.io.signal)) rows.push(logRow(event));
    await context.result(rows, () => rows.map(rowText).join(''));
    return exitStatus.done;
  },
};

function logRow(event: SessionEvent): LogRow {
  const { seq, id, time, type } = event;
  switch (event.type) {
    case 'WorkspaceCheckpointed': {
      const { ref, trigger, cause, stats } = event.body;
      const turn = cause?.turn;
      return {
        ...{ seq, id, time, type, trigger, cause, turn, ref },
        ...{ changed: stats.filesRead, bytes: stats.bytesStored },
      };
    }
    case 'WorkspaceCheckpointFailed':
      return { seq, id, time, type, trigger: event.body.trigger, cause: event.body.cause };
    case 'WorkspaceRestored':
      return { seq, id, time, type, ref: event.body.ref };
    case 'TurnStarted':
    case 'TurnDone':
    case 'TurnFailed':
    case 'TurnInterrupted':
      return { seq, id, time, type, turn: event.body.turn };
    default:
      return { seq, id, time, type };
  }
}

function rowText(row: LogRow): string {
  const parts = [
    String(row.seq).padStart(5),
    new Date(row.time).toISOString(),
    printable(row.type).padEnd(24),
  ];
  if (row.trigger !== undefined) parts.push(row.trigger.padEnd(9));
  if (row.turn !== undefined) parts.push(printable(row.turn));
  if (row.changed !== undefined) parts.push(`read ${countText(row.changed, 'file')}`);
  if (row.bytes !== undefined) parts.push(`stored ${bytesText(row.bytes)}`);
  if (row.ref !== undefined) parts.push(`event ${printable(row.id)}`, row.ref);
  return `${parts.join('  ').trimEnd()}\n`;
}
