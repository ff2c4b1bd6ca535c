import { LeaseHeldError, Leaser, MemoryLeaserDriver, MemoryLeases } from '@holdfast/lease';

import {
  later,
  type MutantRow,
  never,
  passDriver,
  passGrant,
  replaceAcquire,
  turns,
  untilAborted,
} from './reference.js';

const pending = (): AbortSignal => new AbortController().signal;
const releaseWakes = new WeakMap<object, Set<() => void>>();
const everyName = new WeakMap<object, Set<string>>();

/** Wrong adapters of sections 6 to 9: waiting, aborts, closing and declarations. */
export const sharingMutants: readonly MutantRow[] = [
  {
    name: 'waits for a change before the first attempt',
    killedBy: ['6.1'],
    leaser: (leaser, { backend }) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        if (
          options.wait === true &&
          backend.leases.holder(name) === undefined &&
          backend.leases.epoch(name) === 0
        ) {
          await never();
        }
        return await acquire(name, options);
      });
    },
  },
  {
    name: 'never wakes a waiter',
    killedBy: ['6.2', '6.3', '6.5'],
    driver: (driver) => passDriver(driver, { changed: async (_, { signal }) => await untilAborted(signal) }),
  },
  {
    name: 'wakes only the waiters of its own view',
    killedBy: ['6.3', '6.8'],
    driver: (driver) => {
      const wakes = new Set<() => void>();
      return passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          return passGrant(grant, {
            release: async () => {
              await grant.release();
              for (const wake of wakes) wake();
            },
          });
        },
        changed: async (_, { signal }) => {
          await Promise.race([new Promise<void>((wake) => wakes.add(wake)), untilAborted(signal)]);
        },
      });
    },
  },
  {
    name: 'loses patience and takes the lease',
    killedBy: ['6.4'],
    driver: (driver, { backend }) =>
      passDriver(driver, {
        changed: async (name, { signal }) => {
          await Promise.race([turns(60), untilAborted(signal)]);
          backend.leases.expire(name);
        },
      }),
  },
  {
    name: 'serves the last waiter first',
    killedBy: ['6.5'],
    leaser: (leaser) => {
      let waiters = 0;
      replaceAcquire(leaser, async (acquire, name, options) => {
        if (options.wait !== true) return await acquire(name, options);
        waiters += 1;
        const patience = Math.max(1, 200 - waiters * 40);
        for (;;) {
          try {
            return await acquire(name, { ...options, wait: false });
          } catch (error) {
            if (!LeaseHeldError.is(error)) throw error;
          }
          await leaser.driver.changed(name, { signal: options.signal ?? pending() });
          await turns(patience);
        }
      });
    },
  },
  {
    name: 'does not let waiters give up',
    killedBy: ['6.6', '6.7'],
    leaser: (leaser) => {
      replaceAcquire(
        leaser,
        async (acquire, name, options) =>
          await acquire(name, options.wait === true ? { ...options, signal: undefined } : options),
      );
    },
  },
  {
    name: 'keeps the place of a waiter that gave up',
    killedBy: ['6.7'],
    leaser: (leaser) => {
      const lines = new Map<string, Promise<unknown>>();
      replaceAcquire(leaser, async (acquire, name, options) => {
        if (options.wait !== true) return await acquire(name, options);
        const before = lines.get(name) ?? Promise.resolve();
        const turn = before.then(async () => await acquire(name, options));
        lines.set(
          name,
          turn.catch(async () => await never()),
        );
        return await Promise.race([turn, untilAborted(options.signal ?? pending())]);
      });
    },
  },
  {
    name: 'wakes waiters on releases but not on the end of a holder',
    killedBy: ['6.8', '6.9'],
    driver: (driver, { backend }) => {
      const wakes = releaseWakes.get(backend) ?? new Set<() => void>();
      releaseWakes.set(backend, wakes);
      return passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          return passGrant(grant, {
            release: async () => {
              await grant.release();
              for (const wake of wakes) wake();
            },
          });
        },
        changed: async (name, { signal }) => {
          if (backend.leases.holder(name) === undefined) return;
          await Promise.race([new Promise<void>((wake) => wakes.add(wake)), untilAborted(signal)]);
        },
      });
    },
  },
  {
    name: 'has one line for all names',
    killedBy: ['6.10'],
    leaser: (leaser) => {
      let line: Promise<unknown> = Promise.resolve();
      replaceAcquire(leaser, async (acquire, name, options) => {
        if (options.wait !== true) return await acquire(name, options);
        const turn = line.then(async () => await acquire(name, options));
        line = turn.catch(() => undefined);
        return await turn;
      });
    },
  },
  {
    name: 'rejects with an AbortError of its own',
    killedBy: ['6.6', '7.1', '7.2'],
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        try {
          return await acquire(name, options);
        } catch (error) {
          if (options.signal?.aborted === true)
            throw new DOMException('the operation was aborted', 'AbortError');
          throw error;
        }
      });
    },
  },
  {
    name: 'looks at the signal only after the work is done, and keeps the grant',
    killedBy: ['7.1', '7.2'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, { ...options, signal: undefined });
          await turns(4);
          if (options.signal?.aborted === true) throw options.signal.reason;
          return grant;
        },
      }),
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        if (options.signal?.aborted !== true) return await acquire(name, options);
        await leaser.driver.acquire(name, { owner: {}, above: 0 }).catch(() => undefined);
        throw options.signal.reason;
      });
    },
  },
  {
    name: 'ends the lease with the signal of acquire',
    killedBy: ['7.3'],
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        const lease = await acquire(name, options);
        options.signal?.addEventListener('abort', () => {
          later(0, async () => {
            await lease.release();
          });
        });
        return lease;
      });
    },
  },
  {
    name: 'waits without being asked to',
    killedBy: ['2.2', '7.4'],
    leaser: (leaser) => {
      replaceAcquire(
        leaser,
        async (acquire, name, options) => await acquire(name, { ...options, wait: true }),
      );
    },
  },
  {
    name: 'forgets its leases when it is closed',
    killedBy: ['8.1', '8.5', '8.7'],
    leaser: (leaser) => {
      let closed = false;
      const close = new Leaser(leaser.driver);
      replaceAcquire(
        leaser,
        async (acquire, name, options) => await (closed ? close : { acquire }).acquire(name, options),
      );
      leaser.close = async () => {
        closed = true;
        await Promise.resolve();
      };
    },
  },
  {
    name: 'can be used after it was closed',
    killedBy: ['8.2'],
    leaser: (leaser) => {
      const closed = leaser.close.bind(leaser);
      replaceAcquire(
        leaser,
        async (acquire, name, options) =>
          await acquire(name, options).catch(async (error: unknown) => {
            if ((error as { code?: unknown }).code !== 'LEASE_CLOSED') throw error;
            return await new Leaser(new MemoryLeaserDriver(new MemoryLeases())).acquire(name, options);
          }),
      );
      leaser.close = closed;
    },
  },
  {
    name: 'lets those who wait wait on after it was closed',
    killedBy: ['8.3'],
    leaser: (leaser) => {
      replaceAcquire(
        leaser,
        async (acquire, name, options) =>
          await acquire(name, options).catch(async (error: unknown) => {
            if (options.wait === true && (error as { code?: unknown }).code === 'LEASE_CLOSED') await never();
            throw error;
          }),
      );
    },
  },
  {
    name: 'fails a second close',
    killedBy: ['8.4'],
    leaser: (leaser) => {
      let closed = false;
      const close = leaser.close.bind(leaser);
      leaser.close = async () => {
        if (closed) throw new Error('already closed');
        closed = true;
        await close();
      };
    },
  },
  {
    name: "ends everybody's leases when it is closed",
    killedBy: ['8.6', '8.3'],
    driver: (driver, { backend }) => {
      const seen = everyName.get(backend) ?? new Set<string>();
      everyName.set(backend, seen);
      return passDriver(driver, {
        acquire: async (name, options) => {
          seen.add(name);
          return await driver.acquire(name, options);
        },
        close: async () => {
          for (const name of seen) backend.leases.expire(name);
          await driver.close();
        },
      });
    },
  },
  {
    name: 'stays open at the end of a scope',
    killedBy: ['8.7'],
    leaser: (leaser) => {
      leaser[Symbol.asyncDispose] = async () => await Promise.resolve();
    },
  },
  {
    name: 'declares what can be changed',
    killedBy: ['9.1'],
    driver: (driver) => passDriver(driver, { supports: { ...driver.supports } }),
  },
  {
    name: 'reports a relative path',
    killedBy: ['9.2'],
    driver: (driver) => passDriver(driver, { storagePaths: () => ['leases'] }),
  },
  {
    name: 'throws errors that lose their facts on the way',
    killedBy: ['9.3'],
    leaser: (leaser) => {
      replaceAcquire(
        leaser,
        async (acquire, name, options) =>
          await acquire(name, options).catch((error: unknown) => {
            if (!LeaseHeldError.is(error)) throw error;
            const { code, leaseName, holderEpoch, owner } = error;
            throw Object.assign(new Error('Held!\nTry again.'), {
              code,
              leaseName,
              holderEpoch,
              owner,
              effect: 'none',
            });
          }),
      );
    },
  },
];
