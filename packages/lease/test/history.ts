import { closeSync, openSync, readSync } from 'node:fs';

/** One line of the log that contenders share: what happened, in the order in which it happened. */
export interface HistoryEvent {
  /** `killing` is written by the test before it sends SIGKILL; everything else by the holder itself. */
  readonly type: 'enter' | 'work' | 'exit' | 'lost' | 'killing';
  readonly name?: string | undefined;
  readonly epoch?: number | undefined;
  readonly pid: number;
}

interface Holder {
  readonly epoch: number;
  readonly pid: number;
}

/**
 * Checks mutual exclusion and epochs as the events come: per name, epochs rise; nobody enters before the holder has left
 * or is being killed; nobody does anything after the next one has entered.
 */
export class HistoryChecker {
  readonly violations: string[] = [];
  readonly #present = new Map<string, Holder>();
  readonly #highest = new Map<string, number>();
  readonly #doomed = new Set<number>();
  readonly #seen = new Set<number>();
  #lines = 0;
  #grants = 0;
  #takeovers = 0;

  get grants(): number {
    return this.#grants;
  }

  /** Grants whose predecessor was killed in its critical section. */
  get takeovers(): number {
    return this.#takeovers;
  }

  /** Processes that are in their critical sections now. */
  get inside(): readonly number[] {
    return [...this.#present.values()].map(({ pid }) => pid);
  }

  /** Whether a process has done anything yet. */
  hasSeen(pid: number): boolean {
    return this.#seen.has(pid);
  }

  add(event: HistoryEvent): void {
    this.#lines += 1;
    const { type, name = '', epoch = 0, pid } = event;
    if (type === 'killing') {
      this.#doomed.add(pid);
      return;
    }
    this.#seen.add(pid);
    if (type === 'enter') this.#enter(event, { name, epoch, pid });
    else this.#act(event, { name, epoch, pid });
  }

  #enter(event: HistoryEvent, { name, epoch, pid }: Required<Holder> & { readonly name: string }): void {
    this.#grants += 1;
    const highest = this.#highest.get(name) ?? 0;
    if (epoch <= highest) this.#report(event, `epoch is not above ${highest}`);
    this.#highest.set(name, Math.max(epoch, highest));
    const holder = this.#present.get(name);
    if (holder !== undefined) {
      this.#takeovers += 1;
      if (!this.#doomed.has(holder.pid)) {
        this.#report(event, `entered while ${JSON.stringify(holder)} was inside and alive`);
      }
    }
    this.#present.set(name, { epoch, pid });
  }

  #act(event: HistoryEvent, { name, epoch, pid }: Required<Holder> & { readonly name: string }): void {
    const holder = this.#present.get(name);
    if (event.type === 'lost')
      this.#report(event, 'lost its lease although nobody may overtake a live process');
    if (holder?.epoch !== epoch || holder.pid !== pid) {
      this.#report(event, `acted, but inside is ${JSON.stringify(holder)}`);
    }
    if (event.type !== 'work') this.#present.delete(name);
  }

  #report(event: HistoryEvent, text: string): void {
    this.violations.push(`line ${this.#lines}: ${JSON.stringify(event)}: ${text}`);
  }
}

/** Reads the events that were appended to a log since the last time. */
export class LogReader {
  readonly #descriptor: number;
  #position = 0;
  #rest = '';

  constructor(path: string) {
    this.#descriptor = openSync(path, 'r');
  }

  *events(): Generator<HistoryEvent> {
    const buffer = Buffer.alloc(64 * 1024);
    for (;;) {
      const count = readSync(this.#descriptor, buffer, 0, buffer.length, this.#position);
      if (count === 0) return;
      this.#position += count;
      const lines = (this.#rest + buffer.toString('utf8', 0, count)).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as HistoryEvent;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
