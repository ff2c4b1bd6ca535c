import { createSha256, type Sha256, throwIfAborted, toHex } from '@holdfast/base';

import type { Dir } from './dir.js';
import { type EntryName, entryNameBytes } from './entry-name.js';
import {
  ContentMismatchError,
  FileSystemError,
  LinksUnsupportedError,
  OutcomeUncertainError,
} from './errors.js';
import type { File } from './file.js';
import { decisive } from './internal/certainty.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';
import { type OperationOptions, temporaryName } from './temporary-name.js';

export interface StagedFileOptions extends OperationOptions {
  /** `false` saves the hashing of what is appended; `sha256` and an announced digest are refused then. Default `true`. */
  readonly hashed?: boolean | undefined;
}

export interface PublishOptions {
  /** Exact permission bits, whatever the umask; default `0o600` less the umask. */
  readonly mode?: number | undefined;
  /** `true` (default): an existing name is left alone. `false`: it is replaced atomically. */
  readonly exclusive?: boolean | undefined;
  /** Directories that are synced side by side with the file, before the name is given: those on a path just made. */
  readonly alsoSync?: readonly Dir[] | undefined;
  /** Aborts have no effect from the moment the name is given. */
  readonly signal?: AbortSignal | undefined;
}

export interface Published {
  /** `false`: the name was taken and was left alone. It is durable all the same when this resolves. */
  readonly created: boolean;
}

const linksMissing: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * A file that is being written under a temporary name of its directory and gets its real name only when it is complete
 * and durable. Dispose it in any case: what was not published is deleted.
 */
export class StagedFile implements Disposable {
  /** The open file. Write through `append`, which counts and hashes. */
  readonly file: File;
  readonly #dir: Dir;
  readonly #temporary: Uint8Array;
  readonly #hasher: Sha256 | undefined;
  #digest: string | undefined;
  #size = 0;
  #state: 'writing' | 'linked' | 'done' = 'writing';

  private constructor(dir: Dir, file: File, temporary: Uint8Array, hasher: Sha256 | undefined) {
    this.#hasher = hasher;
    this.#dir = dir;
    this.file = file;
    this.#temporary = temporary;
  }

  /** Creates the temporary file, readable by nobody else. */
  static create(dir: Dir, options: StagedFileOptions = {}): StagedFile {
    const temporary = temporaryName('file', options);
    const file = dir.createFile(temporary, 0o600);
    return new StagedFile(
      dir.retain(),
      file,
      temporary,
      options.hashed === false ? undefined : createSha256(),
    );
  }

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  append(bytes: Uint8Array): void {
    if (this.#digest !== undefined) throw new TypeError('append: the digest was already taken');
    this.file.write(bytes, this.#size);
    this.#hasher?.update(bytes);
    this.#size += bytes.length;
  }

  /** SHA-256 of everything appended, in hex; nothing can be appended afterwards. */
  sha256(): string {
    if (this.#hasher === undefined) throw new TypeError('sha256: this file was created with hashed: false');
    this.#digest ??= toHex(this.#hasher.digest());
    return this.#digest;
  }

  /** Compares what was appended with what was announced. @throws ContentMismatchError */
  expect(announced: { readonly size?: number | undefined; readonly sha256?: string | undefined }): void {
    if (announced.size !== undefined && announced.size !== this.#size) {
      throw new ContentMismatchError('size', String(announced.size), String(this.#size));
    }
    if (announced.sha256 !== undefined && announced.sha256 !== this.sha256()) {
      throw new ContentMismatchError('sha256', announced.sha256, this.sha256());
    }
  }

  /**
   * Gives the file its name, durably.
   * @throws LinksUnsupportedError when exclusive and the file system has no hard links.
   * @throws OutcomeUncertainError when a failure came after the name may have been given.
   */
  async publish(name: EntryName, options: PublishOptions = {}): Promise<Published> {
    return await runSteps(this.#publish(entryNameBytes(name), options));
  }

  /** The same without giving up the thread. */
  publishSync(name: EntryName, options: PublishOptions = {}): Published {
    return runStepsSync(this.#publish(entryNameBytes(name), options));
  }

  // 1. Set the exact mode, then sync the file: a name must never lead to bytes that a crash can take back. What else the
  //    caller needs durable is waited for at the same time: a journaling disk makes one commit of it.
  // 2. Point of no return: give the name, by link (refused when taken) or by rename (replaces atomically).
  // 3. After a link, remove the temporary name.
  // 4. Sync the directory, also when the name was taken: whoever gave it may have died before this step.
  *#publish(name: Uint8Array, options: PublishOptions): Steps<Published> {
    const exclusive = options.exclusive ?? true;
    throwIfAborted(options.signal);
    if (options.mode !== undefined) this.file.chmod(options.mode);
    yield* syncStep([...(options.alsoSync ?? []), this.file]);
    throwIfAborted(options.signal);
    const created = exclusive ? this.#link(name) : this.#rename(name);
    try {
      if (exclusive) this.#dir.unlink(this.#temporary);
      this.#state = 'done';
      yield* syncStep([this.#dir]);
    } catch (error) {
      throw new OutcomeUncertainError(exclusive ? 'publish' : 'replace', name, { cause: error });
    }
    return { created };
  }

  #link(name: Uint8Array): boolean {
    let created = true;
    decisive('publish', name, () => {
      try {
        this.#dir.link(this.#temporary, this.#dir, name);
      } catch (error) {
        if (!FileSystemError.is(error)) throw error;
        if (linksMissing.has(error.errno)) throw new LinksUnsupportedError(error.errno, { cause: error });
        if (error.errno !== 'EEXIST') throw error;
        // A network file system may repeat a call whose answer was lost, and then refuse its own success.
        created = this.#dir.lstat(name)?.ino === this.file.stat().ino;
      }
    });
    this.#state = 'linked';
    return created;
  }

  #rename(name: Uint8Array): boolean {
    decisive('replace', name, () => {
      this.#dir.rename(this.#temporary, this.#dir, name);
    });
    return true;
  }

  /** Deletes the temporary file unless it was published, and closes. Idempotent; never throws. */
  discard(): void {
    if (!this.file.isOpen) return;
    this.file.close();
    if (this.#state !== 'done') {
      this.#state = 'done';
      try {
        this.#dir.unlink(this.#temporary);
      } catch {
        // Left to the sweep, which knows it by its name; the error that led here matters more.
      }
    }
    this.#dir.close();
  }

  [Symbol.dispose](): void {
    this.discard();
  }
}
