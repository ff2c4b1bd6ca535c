import type { ExecutionGate } from './execution-gate.js';

/** A step's place inside the execution gate. */
export interface StepTicket {
  leave(): void;
}

/**
 * The places that the open steps of one turn hold inside the execution gate. While the turn waits for a delegate they
 * are given up: otherwise a checkpoint that waits for this turn's step would keep the delegate's steps out, and each
 * would wait for the other.
 */
export class TurnTickets {
  readonly #gate: ExecutionGate;
  readonly #open = new Map<StepTicket, Disposable | undefined>();
  #parked = 0;
  #over = false;

  constructor(gate: ExecutionGate) {
    this.#gate = gate;
  }

  async enter(signal: AbortSignal): Promise<StepTicket> {
    const place = await this.#gate.enter(signal);
    const ticket: StepTicket = {
      leave: () => {
        this.#open.get(ticket)?.[Symbol.dispose]();
        this.#open.delete(ticket);
      },
    };
    this.#open.set(ticket, place);
    return ticket;
  }

  /** Runs `work` with every place given up, and takes them again afterwards. */
  async outside<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    this.#parked += 1;
    for (const [ticket, place] of this.#open) {
      place?.[Symbol.dispose]();
      this.#open.set(ticket, undefined);
    }
    try {
      return await work();
    } finally {
      this.#parked -= 1;
      if (this.#parked === 0) await this.#return(signal);
    }
  }

  /** Whether the turn has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** The turn has ended: every place is given up for good. */
  leaveAll(): void {
    this.#over = true;
    for (const place of this.#open.values()) place?.[Symbol.dispose]();
    this.#open.clear();
  }

  async #return(signal: AbortSignal): Promise<void> {
    for (const [ticket, place] of [...this.#open]) {
      if (place !== undefined) continue;
      const again = await this.#gate.enter(signal);
      if (this.#open.has(ticket)) this.#open.set(ticket, again);
      else again[Symbol.dispose]();
    }
  }
}
