import type { SessionSummary } from '@holdfast/journal';
import { type ForkOrigin, type ForkPoint, forkPoint } from '@holdfast/session';
import { rootOf } from './internal/attach-workspace.js';
import { deleteSession } from './internal/delete-session.js';
import { beginningOf, type ForkBeginning } from './internal/fork-beginning.js';
import { newSession } from './internal/new-session.js';
import { openSession } from './internal/open-session.js';
import type { RigDefinition } from './internal/rig-definition.js';
import type { OpenedSession } from './opened-session.js';
import type { WorkspacePlacement } from './placement.js';
import type { ForkSessionOptions, NewSessionOptions, OpenSessionOptions } from './session-options.js';

export interface DeleteSessionOptions {
  /** Remove the files of a per-session root too; default `false`. */
  readonly removeRoot?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A checked definition: opens sessions, and holds nothing open itself. Made by `defineRig`. */
export class Rig {
  readonly #definition: RigDefinition;

  /** @internal */
  constructor(definition: RigDefinition) {
    this.#definition = definition;
    Object.freeze(this);
  }

  /** The placement as it was given; absent when sessions have no workspace. */
  get placement(): WorkspacePlacement | undefined {
    return this.#definition.placement?.placement;
  }

  /** Canonical root of a session's workspace; absent when sessions have none. */
  rootOf(sessionId: string): string | undefined {
    const { placement } = this.#definition;
    return placement === undefined ? undefined : rootOf(placement, sessionId);
  }

  /**
   * Begins a session. An abort, like any failure, takes back everything that was begun.
   * @throws WorkspaceSeedError, WorkspaceRootBusyError, WorkspaceRootNestedError, PersistenceOverlapError.
   * @throws What the session store, its leaser and the workspace store throw.
   */
  async newSession(options: NewSessionOptions = {}): Promise<OpenedSession> {
    return await newSession(this.#definition, options, async (origin, signal) => {
      return await this.#fork(origin, { signal });
    });
  }

  /**
   * Opens a session that an earlier process left: takes its leases over, settles interrupted restores, and brings files
   * and journal together. `opening` of the result says what was found.
   * @throws WorkspaceRelocatedError, WorkspaceDriftError, WorkspaceRootBusyError; WorkspaceRestoreError
   * (`recovery-refused`); LeaseHeldError while another process has the session.
   */
  async openSession(id: string, options: OpenSessionOptions = {}): Promise<OpenedSession> {
    return await openSession(this.#definition, id, options, async (origin, signal) => {
      return await this.#fork(origin, { signal });
    });
  }

  /**
   * Begins a session of this rig with the files of a checkpoint of another session of its store, and the conversation up to
   * there. The other one is only read, whatever its placement is.
   * @throws SessionNotFoundError, SessionPointError; what `newSession` throws; LedgerInUseError while another process has
   * the other one and its journal can be open only once.
   */
  async forkSession(id: string, options: ForkSessionOptions = {}): Promise<OpenedSession> {
    const { at, ...begin } = options;
    const { signal } = options;
    return await this.#begin(await this.#originOf(id, { at, signal }), begin);
  }

  /** Yields a summary of every session of the store, sorted by id. */
  listSessions(options: { readonly signal?: AbortSignal | undefined } = {}): AsyncIterable<SessionSummary> {
    return this.#definition.sessionStore.list(options);
  }

  /**
   * Deletes a session's journal; its snapshots stay until they are collected. Deleting an absent one succeeds.
   * @throws LeaseHeldError while a process has the session.
   */
  async deleteSession(id: string, options: DeleteSessionOptions = {}): Promise<void> {
    const { removeRoot = false, signal } = options;
    await deleteSession(this.#definition, id, { removeRoot, signal });
  }

  /** Everything that is needed of the other session, so that its owner can have it while the files are written. */
  async #originOf(id: string, point: ForkPoint): Promise<ForkBeginning> {
    await using journal = await this.#definition.sessionStore.read(id, { signal: point.signal });
    return await beginningOf({ journal, ...(await forkPoint(journal, point)) });
  }

  async #fork(origin: ForkOrigin, begin: Omit<NewSessionOptions, 'seed'>): Promise<OpenedSession> {
    return await this.#begin(await beginningOf(origin), begin);
  }

  async #begin(origin: ForkBeginning, begin: Omit<NewSessionOptions, 'seed'>): Promise<OpenedSession> {
    const { session, ref, seq, conversation } = origin;
    return await newSession(
      this.#definition,
      {
        ...begin,
        seed: ref,
        forkedFrom: { session, seq },
        conversation: async (to) => {
          for (const event of conversation) await to.appendCopy(event);
        },
      },
      async (again, signal) => await this.#fork(again, { signal }),
    );
  }
}
