/** Reads big-endian fields from a byte string; every read past the end throws a `FormatFault`. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#offset;
  }

  get atEnd(): boolean {
    return this.#offset === this.#bytes.length;
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2));
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4));
  }

  /** Reads 8 bytes that must hold a safe integer. */
  u64(): number {
    const at = this.#take(8);
    const high = this.#view.getUint32(at);
    if (high >= 2 ** 21) throw new FormatFault('an integer above 2^53');
    return high * 2 ** 32 + this.#view.getUint32(at + 4);
  }

  /** A view on the next `count` bytes. */
  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return this.#bytes.subarray(at, at + count);
  }

  /** Throws unless everything was read. */
  end(): void {
    if (!this.atEnd) throw new FormatFault(`${this.#bytes.length - this.#offset} bytes after the end`);
  }

  #take(count: number): number {
    const at = this.#offset;
    if (at + count > this.#bytes.length) throw new FormatFault('an early end');
    this.#offset = at + count;
    return at;
  }
}

/**
 * Bytes do not follow a format. Internal: whoever knows the object's name turns it into an `IntegrityError`. The message
 * completes the sentence "found …".
 */
export class FormatFault extends Error {
  override readonly name = 'FormatFault';
}
