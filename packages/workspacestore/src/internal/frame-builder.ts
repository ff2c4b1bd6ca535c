import type { BuiltFrame, FrameObject } from './archive-writer.js';
import { type Compression, encodeFrameLater } from './frame-codec.js';
import type { ObjectKind } from './object-key.js';

/** Raw bytes of a frame that holds more than one object. */
export const frameTargetBytes: number = 256 * 1024;

/** A frame before it is compressed. The bytes belong to whoever takes it. */
export interface RawFrame {
  readonly bytes: Uint8Array;
  readonly objects: readonly FrameObject[];
}

/** Packs objects into frames in the order in which they come. */
export class FrameBuilder {
  readonly #emit: (frame: RawFrame) => void;
  readonly #spare: () => Uint8Array | undefined;
  #buffer: Uint8Array | undefined;
  #length = 0;
  #objects: FrameObject[] = [];

  /** `spare` may give buffers of the target size that nobody needs any more. */
  constructor(emit: (frame: RawFrame) => void, spare: () => Uint8Array | undefined = () => undefined) {
    this.#emit = emit;
    this.#spare = spare;
  }

  /** Adds an object; its bytes are copied. */
  add(kind: ObjectKind, key: Uint8Array, bytes: Uint8Array): void {
    if (bytes.length >= frameTargetBytes) {
      this.#emit({
        bytes: bytes.slice(),
        objects: [{ kind, key: key.slice(), offset: 0, length: bytes.length }],
      });
      return;
    }
    if (this.#length + bytes.length > frameTargetBytes) this.flush();
    this.#buffer ??= this.#spare() ?? new Uint8Array(frameTargetBytes);
    this.#buffer.set(bytes, this.#length);
    this.#objects.push({ kind, key: key.slice(), offset: this.#length, length: bytes.length });
    this.#length += bytes.length;
  }

  /** Emits what is there. */
  flush(): void {
    if (this.#buffer === undefined || this.#objects.length === 0) return;
    const frame = { bytes: this.#buffer.subarray(0, this.#length), objects: this.#objects };
    this.#buffer = undefined;
    this.#length = 0;
    this.#objects = [];
    this.#emit(frame);
  }
}

/** Compresses a frame. */
export async function buildFrame(frame: RawFrame, compression: Compression): Promise<BuiltFrame> {
  const { codec, bytes } = await encodeFrameLater(frame.bytes, compression);
  // A stored frame must not keep a whole buffer alive for a few bytes.
  const owned = bytes.buffer.byteLength > bytes.byteLength * 2 ? bytes.slice() : bytes;
  return { codec, bytes: owned, rawLength: frame.bytes.length, objects: frame.objects };
}
