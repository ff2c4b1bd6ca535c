import { ArchiveEntryError } from '../../errors.js';

export const blockBytes = 512;

/** Reads a stream in blocks. Ends of the stream inside of what is asked for are `truncated`. */
export class TarSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#iterator = stream[Symbol.asyncIterator]();
  }

  /** One block; `undefined` when the stream ends before it. */
  async block(entry: string): Promise<Uint8Array | undefined> {
    if (!(await this.#fill())) return undefined;
    return await this.exactly(blockBytes, entry);
  }

  /** Exactly `count` bytes in one piece; callers bound `count`. */
  async exactly(count: number, entry: string): Promise<Uint8Array> {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; ) {
      const part = await this.#take(count - at, entry);
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  /** What comes next, as much of it as came at once; empty at the end. Nothing is taken. */
  async peek(): Promise<Uint8Array> {
    return (await this.#fill()) ? this.#piece : new Uint8Array(0);
  }

  /** `count` bytes in pieces. */
  async *pieces(count: number, entry: string): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0; ) {
      const part = await this.#take(left, entry);
      left -= part.length;
      yield part;
    }
  }

  /** Reads what fills up the last block. */
  async padding(count: number, entry: string): Promise<void> {
    const left = (blockBytes - (count % blockBytes)) % blockBytes;
    if (left > 0) await this.exactly(left, entry);
  }

  /** The number of bytes up to the end of the stream; `undefined` when one of them is not zero. */
  async zerosToEnd(): Promise<number | undefined> {
    let count = 0;
    while (await this.#fill()) {
      if (this.#piece.some((byte) => byte !== 0)) return undefined;
      count += this.#piece.length;
      this.#piece = new Uint8Array(0);
    }
    return count;
  }

  /** Lets go of the stream. */
  async close(): Promise<void> {
    if (!this.#ended) await this.#iterator.return?.();
  }

  async #take(most: number, entry: string): Promise<Uint8Array> {
    if (!(await this.#fill()))
      throw new ArchiveEntryError(entry, 'truncated', 'the stream ends inside of it');
    const part = this.#piece.subarray(0, most);
    this.#piece = this.#piece.subarray(part.length);
    return part;
  }

  async #fill(): Promise<boolean> {
    while (this.#piece.length === 0 && !this.#ended) {
      const next = await this.#iterator.next();
      if (next.done === true) this.#ended = true;
      else this.#piece = next.value;
    }
    return this.#piece.length > 0;
  }
}
