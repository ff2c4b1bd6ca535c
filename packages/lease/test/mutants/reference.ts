import type { AcquireOptions, Lease, LeaseGrant, LeaserDriver } from '@holdfast/lease';
import { LeaseLostError, Leaser, MemoryLeaserDriver, MemoryLeases } from '@holdfast/lease';
import type { LeaserHarness } from '@holdfast/lease/testing';

/** What the views of one storage share. Every capability is there, so that no mutant can hide behind a refusal case. */
export interface Backend {
  readonly leases: MemoryLeases;
  readonly damaged: Set<string>;
}

/** One view as a mutation sees it. */
export interface MutationContext {
  readonly backend: Backend;
  /** `false` while the harness imitates an outage. */
  readonly reachable: () => boolean;
}

/** What is wrong, at the level at which it is easiest to write. Each gets the right thing and returns the wrong one. */
export interface Mutation {
  readonly driver?: ((driver: LeaserDriver, context: MutationContext) => LeaserDriver) | undefined;
  readonly grant?: ((grant: LeaseGrant, name: string, context: MutationContext) => LeaseGrant) | undefined;
  readonly lease?: ((lease: Lease, context: MutationContext) => Lease) | undefined;
  readonly leaser?: ((leaser: Leaser, context: MutationContext) => void) | undefined;
  /** What a crash of a view does; default: its leases are free. */
  readonly crash?: ((names: readonly string[], backend: Backend) => void) | undefined;
}

/** A mutation with its name and the clauses that must notice it. */
export interface MutantRow extends Mutation {
  /** What is wrong, as a short phrase. */
  readonly name: string;
  readonly killedBy: readonly string[];
}

/** The memory driver with everything that a driver can have: declared durable, damageable, able to fail and to crash. */
export function referenceHarness(adapter: string, mutation: Mutation = {}): LeaserHarness {
  interface View extends MutationContext {
    reachable: () => boolean;
    readonly held: Set<string>;
    crashed: boolean;
  }
  const views = new WeakMap<Leaser, View>();
  const viewOf = (leaser: Leaser): View => {
    const view = views.get(leaser);
    if (view === undefined) throw new TypeError('this leaser was not opened by this harness');
    return view;
  };
  const open = (backend: Backend): Leaser => {
    const view: View = { backend, reachable: () => true, held: new Set(), crashed: false };
    const right = referenceDriver(view, (grant, name) => mutation.grant?.(grant, name, view) ?? grant);
    const leaser = new Leaser(mutation.driver?.(right, view) ?? right);
    mutation.leaser?.(leaser, view);
    const { lease: mutateLease } = mutation;
    if (mutateLease !== undefined) {
      const acquire = leaser.acquire.bind(leaser);
      leaser.acquire = async (name, options) => mutateLease(await acquire(name, options), view);
    }
    views.set(leaser, view);
    return leaser;
  };
  return {
    adapter,
    limits: { caseMilliseconds: 2000 },
    fresh: async () => await Promise.resolve(open({ leases: new MemoryLeases(), damaged: new Set() })),
    reopen: async (leaser) => await Promise.resolve(open(viewOf(leaser).backend)),
    expire: async (lease, leaser) => {
      viewOf(leaser).backend.leases.expire(lease.name);
      await Promise.resolve();
    },
    suspend: async (lease, leaser) => {
      viewOf(leaser).backend.leases.expire(lease.name, { silently: true });
      await Promise.resolve();
    },
    crash: async (leaser) => {
      const { backend, held } = viewOf(leaser);
      if (mutation.crash !== undefined) mutation.crash([...held], backend);
      else for (const name of held) backend.leases.expire(name, { silently: true });
      await Promise.resolve();
    },
    corrupt: async (leaser, name) => {
      viewOf(leaser).backend.damaged.add(name);
      await Promise.resolve();
    },
    outage: async (leaser) => {
      const view = viewOf(leaser);
      view.reachable = () => false;
      await Promise.resolve();
      return () => {
        view.reachable = () => true;
      };
    },
  };
}

function referenceDriver(
  view: MutationContext & { readonly held: Set<string> },
  mutateGrant: (grant: LeaseGrant, name: string) => LeaseGrant,
): LeaserDriver {
  const { backend } = view;
  const inner = new MemoryLeaserDriver(backend.leases);
  const reach = (): void => {
    if (!view.reachable()) throw new Error('the backend does not answer');
  };
  return {
    contract: 'lease/1',
    supports: Object.freeze({ scope: 'host', durable: true }),
    storagePaths: () => ['/imaginary/leases'],
    acquire: async (name, options) => {
      reach();
      if (backend.damaged.has(name) && backend.leases.holder(name) !== undefined) {
        throw new Error('the record is damaged');
      }
      const grant = await inner.acquire(name, options);
      view.held.add(name);
      return mutateGrant(
        passGrant(grant, {
          check: async (asked) => {
            reach();
            return await grant.check(asked);
          },
          release: async () => {
            reach();
            view.held.delete(name);
            await grant.release();
          },
        }),
        name,
      );
    },
    changed: async (name, options) => {
      reach();
      await inner.changed(name, options);
    },
    close: async () => {
      await inner.close();
    },
  };
}

/** Puts something between the caller and `acquire`, which gets its options in any case. */
export function replaceAcquire(
  leaser: Leaser,
  replacement: (acquire: Leaser['acquire'], name: string, options: AcquireOptions) => Promise<Lease>,
): void {
  const acquire = leaser.acquire.bind(leaser);
  leaser.acquire = async (name, options) => await replacement(acquire, name, options ?? {});
}

/** The same driver with some members replaced. */
export function passDriver(driver: LeaserDriver, replaced: Partial<LeaserDriver>): LeaserDriver {
  return { ...driver, ...replaced };
}

/** The same grant with some members replaced; `lost` and `epoch` stay live. */
export function passGrant(grant: LeaseGrant, replaced: Partial<LeaseGrant>): LeaseGrant {
  return {
    epoch: grant.epoch,
    lost: grant.lost,
    expiresIn: () => grant.expiresIn(),
    check: async (options) => await grant.check(options),
    release: async () => {
      await grant.release();
    },
    ...replaced,
  };
}

/** The same lease with some members replaced; its state stays live. */
export function passLease(lease: Lease, replaced: Partial<Lease>): Lease {
  const whole: Lease = {
    name: lease.name,
    epoch: lease.epoch,
    signal: lease.signal,
    get held() {
      return lease.held;
    },
    expiresIn: () => lease.expiresIn(),
    check: async (options) => {
      await lease.check(options);
    },
    release: async () => {
      await lease.release();
    },
    [Symbol.asyncDispose]: async () => {
      await lease.release();
    },
  };
  return Object.defineProperties(whole, Object.getOwnPropertyDescriptors(replaced));
}

/** A loss as a careless lease would report it. */
export function freshLoss(lease: Lease): LeaseLostError {
  return new LeaseLostError(lease.name, lease.epoch, 'expired');
}

export function never(): Promise<never> {
  return new Promise(() => undefined);
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}

/** Does something after some turns of the queue; nobody waits for it. */
export function later(count: number, action: () => void | Promise<void>): void {
  turns(count)
    .then(action)
    .catch(() => undefined);
}

export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
