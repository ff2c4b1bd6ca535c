/** Takes chunks of any size and gives pieces of a wanted one. Holds one piece and one chunk. */
export class ByteQueue {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #parts: Uint8Array[] = [];
  #length = 0;
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  /** The next `length` bytes, fewer at the end. */
  async take(length: number): Promise<Buffer> {
    while (this.#length < length && !this.#ended) {
      const step = await this.#iterator.next();
      if (step.done === true) this.#ended = true;
      else {
        this.#parts.push(step.value);
        this.#length += step.value.length;
      }
    }
    const [only] = this.#parts;
    const joined =
      this.#parts.length === 1 && only !== undefined
        ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
        : Buffer.concat(this.#parts);
    const piece = joined.subarray(0, length);
    const rest = joined.subarray(piece.length);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return piece;
  }

  /** Ends the stream below, unless it has ended. */
  async end(): Promise<void> {
    if (!this.#ended) await this.#iterator.return?.();
  }
}
