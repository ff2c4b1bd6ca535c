import { createSha256, type Sha256, toHex } from '@holdfast/base';
import type { File } from '@holdfast/durable';
import type { ContentKey } from '@holdfast/workspacestore';

const domain = new TextEncoder().encode('ws/1 file\0');

/** Computes a content key piece by piece: the identity that trees give to a file's bytes. */
export class ContentKeyHasher {
  readonly #hash: Sha256 = createSha256();
  size = 0;

  constructor() {
    this.#hash.update(domain);
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.size += bytes.length;
  }

  key(): ContentKey {
    return toHex(this.#hash.digest()) as ContentKey;
  }
}

const pieceBytes = 256 * 1024;

/** Reads an open file to its end and returns its key and size. `pause` is called between pieces. */
export async function contentKeyOf(
  file: File,
  pause: () => Promise<void>,
): Promise<{ readonly key: ContentKey; readonly size: number }> {
  const hasher = new ContentKeyHasher();
  const buffer = new Uint8Array(Math.min(pieceBytes, Math.max(file.stat().size + 1, 1)));
  for (;;) {
    const count = file.read(buffer, hasher.size);
    if (count === 0) return { key: hasher.key(), size: hasher.size };
    hasher.update(buffer.subarray(0, count));
    await pause();
  }
}
