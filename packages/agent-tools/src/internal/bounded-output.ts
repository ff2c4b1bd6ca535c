/** What a program printed, as far as it is kept: the beginning and the end. */
export class BoundedOutput {
  readonly #half: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#half = Math.max(1, Math.floor(maxBytes / 2));
  }

  /** Bytes that are not kept. */
  get omitted(): number {
    return this.#total - this.#headBytes - Math.min(this.#tailBytes, this.#half);
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const head = chunk.subarray(0, this.#half - this.#headBytes);
    if (head.length > 0) {
      this.#head.push(Buffer.from(head));
      this.#headBytes += head.length;
    }
    const rest = chunk.subarray(head.length);
    if (rest.length === 0) return;
    this.#tail.push(Buffer.from(rest.subarray(-this.#half)));
    this.#tailBytes += Math.min(rest.length, this.#half);
    if (this.#tailBytes > this.#half * 2) this.#trim();
  }

  /** The output as text; a note stands where bytes are missing. */
  text(): string {
    const tail = Buffer.concat(this.#tail).subarray(-this.#half);
    const { omitted } = this;
    if (omitted === 0) return Buffer.concat([...this.#head, tail]).toString('utf8');
    const head = Buffer.concat(this.#head).toString('utf8');
    return `${head}\n[${omitted} bytes left out]\n${tail.toString('utf8')}`;
  }

  #trim(): void {
    const tail = Buffer.concat(this.#tail).subarray(-this.#half);
    this.#tail = [Buffer.from(tail)];
    this.#tailBytes = tail.length;
  }
}
