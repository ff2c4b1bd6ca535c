import { Pacer } from '@holdfast/base';
import type { File } from '@holdfast/durable';

/** Some lines of a file, or all of them. */
export interface TextPart {
  readonly bytes: Uint8Array;
  readonly lines: number;
  /** The file ends with this part. */
  readonly ended: boolean;
  /** The last line was cut. */
  readonly cut: boolean;
}

export interface TextRange {
  /** From 1. */
  readonly firstLine: number;
  readonly maxLines: number;
  readonly maxBytes: number;
}

const chunkBytes = 256 * 1024;
const lineFeed = 0x0a;

/** Reads lines without holding more of the file than the part that is wanted. Lines keep their ends. */
export async function readTextPart(
  file: File,
  range: TextRange,
  signal: AbortSignal | undefined,
): Promise<TextPart> {
  const pacer = new Pacer();
  const reader = new PartReader(range);
  const buffer = new Uint8Array(chunkBytes);
  for (let position = 0; ; ) {
    const count = file.read(buffer, position);
    if (count === 0) return reader.part(true);
    position += count;
    if (reader.take(buffer.subarray(0, count)) === 'full') {
      const ended = reader.consumed === position && file.read(buffer, position) === 0;
      return reader.part(ended);
    }
    if (pacer.due) await pacer.rest(signal);
  }
}

class PartReader {
  consumed = 0;
  readonly #range: TextRange;
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;
  #line = 1;
  #openLine = false;
  #cut = false;

  constructor(range: TextRange) {
    this.#range = range;
  }

  take(chunk: Uint8Array): 'full' | undefined {
    let rest = chunk;
    while (rest.length > 0) {
      const { firstLine, maxLines, maxBytes } = this.#range;
      if (this.#line >= firstLine + maxLines) return 'full';
      const end = rest.indexOf(lineFeed);
      const piece = end === -1 ? rest : rest.subarray(0, end + 1);
      if (this.#line >= firstLine) {
        const room = maxBytes - this.#bytes;
        if (piece.length > room) {
          this.#keep(piece.subarray(0, room));
          this.#cut = true;
          return 'full';
        }
        this.#keep(piece);
      }
      this.consumed += piece.length;
      rest = rest.subarray(piece.length);
      if (end !== -1) this.#line += 1;
      this.#openLine = end === -1;
    }
    return this.#line >= this.#range.firstLine + this.#range.maxLines ? 'full' : undefined;
  }

  part(ended: boolean): TextPart {
    const kept = Buffer.concat(this.#pieces);
    const bytes = this.#cut ? wholeLines(kept) : kept;
    const full = Math.max(0, this.#line - this.#range.firstLine);
    const partial = this.#line >= this.#range.firstLine && (this.#cut || this.#openLine) ? 1 : 0;
    const cut = this.#cut && bytes.at(-1) !== lineFeed;
    return { bytes, lines: this.#cut && !cut ? full : full + partial, ended: ended && !this.#cut, cut };
  }

  #keep(piece: Uint8Array): void {
    this.#pieces.push(piece.slice());
    this.#bytes += piece.length;
  }
}

/** Drops the line that was cut, or only the character that was, when there is but one line. */
function wholeLines(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(lineFeed);
  if (end !== -1) return bytes.subarray(0, end + 1);
  let start = bytes.length - 1;
  while (start > 0 && start > bytes.length - 4 && ((bytes[start] as number) & 0xc0) === 0x80) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? bytes.subarray(0, start) : bytes;
}
