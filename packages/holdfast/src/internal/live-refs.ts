import type { Clock } from '@holdfast/base';
import type { RefHolder } from '@holdfast/cli';
import {
  LedgerInUseError,
  SessionNotFoundError,
  type SessionStore,
  type SessionView,
} from '@holdfast/journal';
import {
  parseRef,
  type Ref,
  type RetentionCandidate,
  type RetentionPolicy,
  retain,
} from '@holdfast/workspacestore';

export interface LiveRefsOptions {
  /** Journals whose refs must stay: people's sessions and the local journals of roots. */
  readonly journals: readonly SessionStore[];
  /** Absent: everything that any journal names stays. */
  readonly retention?: RetentionPolicy | undefined;
  /** Told, before the refs that stay are yielded, which refs that journals name the policy gives up. */
  readonly onLetGo?: ((refs: ReadonlySet<Ref>) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Yields every ref that a collection must keep. Fails closed: a journal that cannot be read ends the collection with its
 * error, and nothing is deleted. Sessions that are live in another process keep all their refs, whatever the policy says,
 * because only their owner knows what they will rewind to.
 */
export async function* liveRefs(options: LiveRefsOptions): AsyncGenerator<Ref, void, undefined> {
  const { journals, retention, clock, signal } = options;
  const candidates: RetentionCandidate[] = [];
  const kept = new Set<Ref>();
  for (const store of journals) {
    for await (const { id } of store.list({ signal })) {
      const chosen = retention === undefined ? undefined : await candidatesOf(store, id, signal);
      if (chosen !== undefined) candidates.push(...chosen);
      else for await (const ref of refsOf(store, id, signal)) kept.add(parseRef(ref));
    }
  }
  if (retention !== undefined) {
    for (const ref of retain(candidates, retention, clock.now())) kept.add(ref);
    const named = candidates.map(({ ref }) => ref);
    await options.onLetGo?.(new Set(named.filter((ref) => !kept.has(ref))));
  }
  yield* kept;
}

/** The refs that a journal names; none when it was deleted since it was listed. */
export async function* refsOf(
  store: SessionStore,
  id: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  try {
    yield* store.refs(id, { signal });
  } catch (error) {
    if (!SessionNotFoundError.is(error)) throw error;
  }
}

/** `undefined`: another process has the session open, or has deleted it. */
async function candidatesOf(
  store: SessionStore,
  id: string,
  signal: AbortSignal | undefined,
): Promise<readonly RetentionCandidate[] | undefined> {
  return await lookInto(store, id, signal, async (view) => {
    const { lastRestore } = view.fold;
    const needed = neededBy(view.fold);
    // By ref: a checkpoint that found nothing new does not count twice.
    const found = new Map<string, RetentionCandidate>();
    for (const { ref, time, trigger, cause } of await view.checkpoints({ signal })) {
      // The last restore can be undone as long as what was there before it is kept.
      const undoes =
        trigger === 'safety' && cause?.restore !== undefined && cause.restore === lastRestore?.restoreId;
      const pinned = undoes || needed.has(ref) || found.get(ref)?.pinned === true;
      found.set(ref, { ref: parseRef(ref), session: id, time, pinned });
    }
    for (const ref of needed) {
      if (!found.has(ref)) found.set(ref, { ref: parseRef(ref), session: id, time: 0, pinned: true });
    }
    return [...found.values()];
  });
}

/** The refs that a session cannot do without, whatever a policy says; `undefined` when another process has it open or has deleted it. */
export async function neededRefs(
  store: SessionStore,
  id: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string> | undefined> {
  return await lookInto(store, id, signal, (view) => neededBy(view.fold));
}

function neededBy({ currentWorkspace, openRestore }: SessionView['fold']): ReadonlySet<string> {
  return new Set(
    [currentWorkspace?.ref, openRestore?.ref, openRestore?.previousRef, openRestore?.safetyRef].filter(
      (ref) => ref !== undefined && ref !== null,
    ),
  );
}

async function lookInto<T>(
  store: SessionStore,
  id: string,
  signal: AbortSignal | undefined,
  look: (view: SessionView) => Promise<T> | T,
): Promise<T | undefined> {
  let view: SessionView;
  try {
    view = await store.read(id, { signal });
  } catch (error) {
    if (LedgerInUseError.is(error) || SessionNotFoundError.is(error)) return undefined;
    throw error;
  }
  try {
    return await look(view);
  } finally {
    await view.close();
  }
}

/** Yields the journals that need `ref`. */
export async function* holdersOf(
  stores: { readonly sessions: SessionStore; readonly roots: SessionStore },
  ref: Ref,
  signal: AbortSignal | undefined,
): AsyncGenerator<RefHolder, void, undefined> {
  for (const [kind, store] of [
    ['session', stores.sessions],
    ['root', stores.roots],
  ] as const) {
    for await (const { id, title } of store.list({ signal })) {
      for await (const needed of refsOf(store, id, signal)) {
        if (needed !== ref) continue;
        yield { kind, id, title };
        break;
      }
    }
  }
}
