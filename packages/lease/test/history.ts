/** One line of the log that contenders share: what happened, in the order in which it happened. */
export interface HistoryEvent {
  /** `killing` is written by the test before it sends SIGKILL; everything else by the holder itself. */
  readonly type: 'enter' | 'work' | 'exit' | 'lost' | 'killing';
  readonly name?: string | undefined;
  readonly epoch?: number | undefined;
  readonly pid: number;
}

export interface HistoryVerdict {
  readonly violations: readonly string[];
  readonly grants: number;
  /** Grants whose predecessor was killed in its critical section. */
  readonly takeovers: number;
}

interface Holder {
  readonly epoch: number;
  readonly pid: number;
}

/**
 * Checks mutual exclusion and epochs: per name, epochs rise; nobody enters before the holder has left or is being
 * killed; nobody does anything after the next one has entered.
 */
export function checkHistory(events: readonly HistoryEvent[]): HistoryVerdict {
  const violations: string[] = [];
  const present = new Map<string, Holder>();
  const highest = new Map<string, number>();
  const doomed = new Set<number>();
  let grants = 0;
  let takeovers = 0;
  events.forEach((event, line) => {
    const report = (text: string): void => {
      violations.push(`line ${line + 1}: ${JSON.stringify(event)}: ${text}`);
    };
    const { type, name = '', epoch = 0, pid } = event;
    if (type === 'killing') {
      doomed.add(pid);
      return;
    }
    const holder = present.get(name);
    if (type === 'enter') {
      grants += 1;
      if (epoch <= (highest.get(name) ?? 0)) report(`epoch is not above ${highest.get(name)}`);
      highest.set(name, Math.max(epoch, highest.get(name) ?? 0));
      if (holder !== undefined) {
        takeovers += 1;
        if (!doomed.has(holder.pid)) report(`entered while ${JSON.stringify(holder)} was inside and alive`);
      }
      present.set(name, { epoch, pid });
      return;
    }
    if (type === 'lost') report('a holder lost its lease although nobody may overtake a live process');
    if (holder?.epoch !== epoch || holder.pid !== pid)
      report(`acted, but inside is ${JSON.stringify(holder)}`);
    if (type !== 'work') present.delete(name);
  });
  return { violations, grants, takeovers };
}

/** Reads the complete lines of a log. */
export function parseHistory(text: string): HistoryEvent[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as HistoryEvent);
}
