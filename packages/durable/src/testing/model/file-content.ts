import { equalBytes } from '@holdfast/base';

/** An unsynced change of a file: bytes at a position, or a new size. */
type PendingWrite =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number };

const empty = new Uint8Array(0);
/** Beyond this many unsynced writes only the last ones are varied. */
const variedWrites = 4;

/**
 * The bytes of a file: those that are seen, those that a crash falls back to, and the writes between the two.
 * Values are shared between file systems; whoever changes one copies it first (`forChange`).
 */
export class FileContent {
  #buffer: Uint8Array;
  #size: number;
  #durable: Uint8Array;
  #pending: readonly PendingWrite[];
  #owner: object;
  #bufferOwned = false;

  private constructor(buffer: Uint8Array, size: number, durable: Uint8Array, owner: object) {
    this.#buffer = buffer;
    this.#size = size;
    this.#durable = durable;
    this.#pending = [];
    this.#owner = owner;
  }

  /** Content that is durable as it is. */
  static durable(bytes: Uint8Array = empty, owner: object = {}): FileContent {
    return new FileContent(bytes, bytes.length, bytes, owner);
  }

  get size(): number {
    return this.#size;
  }

  get dirty(): boolean {
    return this.#pending.length > 0;
  }

  /** A view that is only valid until the next change. */
  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  /** This content, or a copy of it, that `owner` may change. */
  forChange(owner: object): FileContent {
    if (this.#owner === owner) return this;
    const copy = new FileContent(this.#buffer, this.#size, this.#durable, owner);
    copy.#pending = this.#pending;
    return copy;
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    const copy = bytes.slice();
    this.#pending = [...this.#pending, { kind: 'write', position, bytes: copy }];
    const end = Math.max(this.#size, position + copy.length);
    this.#reserve(end);
    this.#buffer.fill(0, this.#size, Math.max(this.#size, position));
    this.#buffer.set(copy, position);
    this.#size = end;
  }

  truncate(size: number): void {
    if (size === this.#size) return;
    this.#pending = [...this.#pending, { kind: 'truncate', size }];
    this.#reserve(Math.max(size, this.#size));
    if (size > this.#size) this.#buffer.fill(0, this.#size, size);
    this.#size = size;
  }

  sync(): void {
    if (this.#pending.length === 0) return;
    this.#durable = this.bytes();
    this.#pending = [];
    this.#bufferOwned = false;
  }

  /**
   * What a crash may leave: all of the unsynced writes first, then every prefix of them, the last one torn or as zeros,
   * and each earlier one lost alone. Without duplicates.
   */
  variants(): readonly Uint8Array[] {
    const writes = this.#pending;
    const found: Uint8Array[] = [];
    const add = (bytes: Uint8Array): void => {
      if (!found.some((known) => equalBytes(known, bytes))) found.push(bytes);
    };
    add(this.bytes());
    const from = Math.max(0, writes.length - variedWrites);
    for (let count = writes.length - 1; count >= from; count -= 1) {
      add(this.#apply(writes.slice(0, count)));
      if (count < writes.length - 1)
        add(this.#apply([...writes.slice(0, count), ...writes.slice(count + 1)]));
      const next = writes[count] as PendingWrite;
      if (next.kind === 'truncate') continue;
      const torn = { ...next, bytes: next.bytes.subarray(0, next.bytes.length >> 1) };
      const zeroed = { ...next, bytes: new Uint8Array(next.bytes.length) };
      add(this.#apply([...writes.slice(0, count), torn]));
      add(this.#apply([...writes.slice(0, count), zeroed]));
    }
    add(this.#durable);
    return found;
  }

  #apply(writes: readonly PendingWrite[]): Uint8Array {
    const result = FileContent.durable(this.#durable);
    for (const change of writes) {
      if (change.kind === 'truncate') result.truncate(change.size);
      else result.write(change.bytes, change.position);
    }
    return result.bytes().slice();
  }

  #reserve(size: number): void {
    if (this.#bufferOwned && size <= this.#buffer.length) return;
    const grown = new Uint8Array(size <= 64 ? 64 : size * 2);
    grown.set(this.bytes());
    this.#buffer = grown;
    this.#bufferOwned = true;
  }
}
