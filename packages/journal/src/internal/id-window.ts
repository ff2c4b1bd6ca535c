/** How many records back a repeated id is recognised. */
export const idempotencyWindow = 4_096;

/** The ids of the last records and where they are. */
export class IdWindow {
  readonly size: number;
  readonly #seqs = new Map<string, number>();

  constructor(size: number = idempotencyWindow) {
    this.size = size;
  }

  /** Adds the id of the newest record and forgets what fell out of the window. */
  add(id: string, seq: number): void {
    this.#seqs.delete(id);
    this.#seqs.set(id, seq);
    for (const [oldest, at] of this.#seqs) {
      if (at > seq - this.size) break;
      this.#seqs.delete(oldest);
    }
  }

  addRange(from: number, ids: readonly string[]): void {
    for (const [index, id] of ids.entries()) this.add(id, from + index);
  }

  seqOf(id: string): number | undefined {
    return this.#seqs.get(id);
  }
}
