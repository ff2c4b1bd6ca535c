import { encodePathText } from '@holdfast/base';
import type { PermitRecord } from '@holdfast/coordinator';
import type { Ref } from '@holdfast/workspacestore';

/** What was known when somebody asked. */
export interface OwnWrites {
  /** The session's last ref, which holds what the session had written until then. */
  readonly since: Ref;
  /** Whether the session may have written a path (path text, relative to the root) since. */
  wrote(path: string): boolean;
}

/**
 * What a session in a shared root may have written itself since its last ref, as far as its permits tell; the rest is
 * somebody else's. A safety checkpoint is no such ref: it is taken to keep the work of others, not to own it.
 */
export class WriteTracker {
  readonly #root: string;
  #since: Ref | undefined;
  #everything = false;
  #trees = new Set<string>();

  constructor(root: string) {
    this.#root = encodePathText(Buffer.from(root, 'utf8'));
  }

  /** Takes note of a granted permit. */
  granted(record: PermitRecord): void {
    if (record.operation === 'checkpoint' || record.group === 'reader') return;
    if (record.group === 'global-writer') this.#everything = true;
    for (const scope of record.scopes) this.#trees.add(encodePathText(Buffer.from(scope, 'utf8')));
  }

  /** Begins anew: `ref` holds what was written until now. */
  settle(ref: Ref): void {
    this.#since = ref;
    this.#everything = false;
    this.#trees = new Set();
  }

  /** What is known now; `undefined` before the first ref. */
  known(): OwnWrites | undefined {
    const since = this.#since;
    if (since === undefined) return undefined;
    const everything = this.#everything;
    const trees = [...this.#trees];
    return {
      since,
      wrote: (path) => {
        const whole = `${this.#root}/${path}`;
        return everything || trees.some((tree) => whole === tree || whole.startsWith(`${tree}/`));
      },
    };
  }
}
