import { AddedObjects } from './added-objects.js';
import type { BuiltFrame, FrameObject } from './archive-writer.js';
import type { CaptureDestination } from './capture-destination.js';
import type { ObjectSink } from './capture-types.js';
import { buildFrame, FrameBuilder } from './frame-builder.js';
import type { LookupParts } from './object-lookup.js';
import type { ObjectTable } from './object-table.js';
import type { ArchiveRef } from './record.js';
import type { StoreContext } from './store-context.js';

/** Stored bytes at which an archive is closed and the next one begins. */
const archiveTargetBytes = 16 * 2 ** 20;

type SinkContext = Pick<StoreContext, 'archives' | 'log' | 'compression' | 'engine'>;

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Collects the objects of one snapshot that its closure lacks, and puts them as archives. */
export class SnapshotSink implements CaptureDestination {
  readonly archives: ArchiveRef[] = [];
  readonly #context: SinkContext;
  readonly #closure: ObjectTable;
  readonly #options: Options;
  #added = new AddedObjects();
  #data = this.#builder('data');
  #trees = this.#builder('trees');
  #frames = noFrames();
  #received = 0;
  #flushing: Promise<void> = Promise.resolve();

  constructor(context: SinkContext, closure: ObjectTable, options: Options) {
    this.#context = context;
    this.#closure = closure;
    this.#options = options;
  }

  has: ObjectSink['has'] = (kind, key) => this.#closure.has(kind, key) || this.#added.has(kind, key);

  add: ObjectSink['add'] = (kind, key, bytes) => {
    this.#added.add(kind, key);
    (kind === 'file' || kind === 'chunk' ? this.#data : this.#trees).add(kind, key, bytes);
  };

  /** What another thread needs in order to know what is new. */
  lookupParts(): LookupParts {
    return this.#closure.lookupParts();
  }

  /** Forgets everything, before anything was put: the capture starts over. */
  restart(): void {
    this.#added = new AddedObjects();
    this.#data = this.#builder('data');
    this.#trees = this.#builder('trees');
    this.#frames = noFrames();
  }

  /** Takes a raw frame that another thread filled, and resolves when there is room for more. */
  async receive(group: 'data' | 'trees', bytes: Uint8Array, objects: readonly FrameObject[]): Promise<void> {
    this.#received += 1;
    const built = await this.#context.engine.compress(bytes, objects, this.#context.compression);
    this.#keep(group, built);
    if (this.full) await this.flush();
  }

  /** `true` while nothing was new. */
  get isEmpty(): boolean {
    return this.#added.size === 0 && this.#received === 0;
  }

  /** `true` when enough has come together for an archive. */
  get full(): boolean {
    return this.#frames.bytes >= archiveTargetBytes;
  }

  /** Bytes of the archives that were put. */
  get bytesStored(): number {
    return this.archives.reduce((sum, archive) => sum + archive.size, 0);
  }

  /** Puts what is there as one archive. */
  async flush(): Promise<void> {
    this.#data.flush();
    this.#trees.flush();
    const frames = this.#frames;
    this.#frames = noFrames();
    const before = this.#flushing;
    this.#flushing = (async () => {
      await before;
      if (frames.data.length === 0 && frames.trees.length === 0) return;
      const meta = await this.#context.log.nextMeta(this.#options);
      this.archives.push(await this.#context.archives.put(meta, frames.data, frames.trees, this.#options));
    })();
    await this.#flushing;
  }

  #builder(group: 'data' | 'trees'): FrameBuilder {
    return new FrameBuilder((frame) => {
      this.#keep(group, buildFrame(frame, this.#context.compression));
    });
  }

  #keep(group: 'data' | 'trees', frame: BuiltFrame): void {
    this.#frames[group].push(frame);
    this.#frames.bytes += frame.bytes.length;
  }
}

function noFrames(): { data: BuiltFrame[]; trees: BuiltFrame[]; bytes: number } {
  return { data: [], trees: [], bytes: 0 };
}
