import type { ArchiveStore } from './archive-store.js';
import type { BuiltFrame } from './archive-writer.js';
import type { ObjectSink } from './capture-types.js';
import { byteText } from './entry-path.js';
import { buildFrame, FrameBuilder, type RawFrame } from './frame-builder.js';
import type { Compression } from './frame-codec.js';
import type { ObjectKind } from './object-key.js';
import type { ObjectTable } from './object-table.js';
import type { ArchiveRef } from './record.js';
import type { WriterLog } from './writer-log.js';

/** Stored bytes at which an archive is closed and the next one begins. */
const archiveTargetBytes = 32 * 2 ** 20;

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Collects the objects of one snapshot that its closure lacks, and puts them as archives. */
export class SnapshotSink implements ObjectSink {
  readonly archives: ArchiveRef[] = [];
  readonly #closure: ObjectTable;
  readonly #added = new Set<string>();
  readonly #compression: Compression;
  readonly #data: FrameBuilder;
  readonly #trees: FrameBuilder;
  #dataFrames: BuiltFrame[] = [];
  #treeFrames: BuiltFrame[] = [];
  #bytes = 0;

  constructor(closure: ObjectTable, compression: Compression) {
    this.#closure = closure;
    this.#compression = compression;
    this.#data = new FrameBuilder((frame) => {
      this.#dataFrames.push(this.#build(frame));
    });
    this.#trees = new FrameBuilder((frame) => {
      this.#treeFrames.push(this.#build(frame));
    });
  }

  has(kind: ObjectKind, key: Uint8Array): boolean {
    return this.#closure.has(kind, key) || this.#added.has(nameOf(kind, key));
  }

  add(kind: ObjectKind, key: Uint8Array, bytes: Uint8Array): void {
    this.#added.add(nameOf(kind, key));
    // A chunk list is found under the key of the object it stands for; that object's kind is not known here, and keys
    // of different kinds never meet.
    if (kind === 'chunklist') {
      for (const whole of ['file', 'tree', 'root'] as const) this.#added.add(nameOf(whole, key));
    }
    (kind === 'file' || kind === 'chunk' ? this.#data : this.#trees).add(kind, key, bytes);
  }

  /** `true` while nothing was new. */
  get isEmpty(): boolean {
    return this.#added.size === 0;
  }

  /** `true` when enough has come together for an archive. */
  get full(): boolean {
    return this.#bytes >= archiveTargetBytes;
  }

  /** Bytes of the archives that were put. */
  get bytesStored(): number {
    return this.archives.reduce((sum, archive) => sum + archive.size, 0);
  }

  /** Puts what is there as one archive. */
  async flush(store: ArchiveStore, log: WriterLog, options: Options): Promise<void> {
    this.#data.flush();
    this.#trees.flush();
    if (this.#dataFrames.length === 0 && this.#treeFrames.length === 0) return;
    const meta = await log.nextMeta(options);
    const [data, trees] = [this.#dataFrames, this.#treeFrames];
    this.#dataFrames = [];
    this.#treeFrames = [];
    this.#bytes = 0;
    this.archives.push(await store.put(meta, data, trees, options));
  }

  #build(frame: RawFrame): BuiltFrame {
    const built = buildFrame(frame, this.#compression);
    this.#bytes += built.bytes.length;
    return built;
  }
}

function nameOf(kind: ObjectKind, key: Uint8Array): string {
  return kind.slice(0, 5) + byteText(key);
}
