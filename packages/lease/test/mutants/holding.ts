import {
  LeaseHeldError,
  LeaseLostError,
  type LeaserDriver,
  MemoryLeaserDriver,
  MemoryLeases,
} from '@holdfast/lease';

import {
  freshLoss,
  later,
  type MutantRow,
  passDriver,
  passGrant,
  passLease,
  replaceAcquire,
  turns,
} from './reference.js';

const pending = (): AbortSignal => new AbortController().signal;

/** Wrong adapters of sections 1 to 5: names, grants, epochs, releases and losses. */
export const holdingMutants: readonly MutantRow[] = [
  {
    name: 'uses names as file names, which end at 255 bytes',
    killedBy: ['1.1'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          if (name.length > 255) throw new Error('ENAMETOOLONG');
          return await driver.acquire(name, options);
        },
      }),
  },
  {
    name: 'makes a name with a slash a child of another lease',
    killedBy: ['1.2'],
    driver: (driver, { backend }) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
          if (backend.leases.holder(parent) !== undefined) throw new Error('ENOTDIR');
          return await driver.acquire(name, options);
        },
      }),
  },
  {
    name: 'puts names in order instead of refusing them',
    killedBy: ['1.3'],
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        const tidy = typeof name === 'string' ? name.toLowerCase().replaceAll(/[^a-z0-9_./-]/g, '-') : name;
        return await acquire(tidy, options);
      });
    },
  },
  {
    name: 'keeps as much of an owner as JSON lets through',
    killedBy: ['1.4'],
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        const kept: unknown = JSON.parse(JSON.stringify({ ...options.owner }).slice(0, 1000));
        return await acquire(name, { ...options, owner: kept as Record<string, string> });
      });
    },
  },
  {
    name: 'lets every name pass until it is needed',
    killedBy: ['1.5'],
    leaser: (leaser) => {
      leaser.checkName = () => undefined;
    },
  },
  {
    name: 'checks names more strictly than it takes them',
    killedBy: ['1.5'],
    leaser: (leaser) => {
      const check = leaser.checkName.bind(leaser);
      leaser.checkName = (name) => {
        check(name.includes('.') ? '' : name);
      };
    },
  },
  {
    name: 'says that a fresh lease has no time left',
    killedBy: ['2.1'],
    grant: (grant) => passGrant(grant, { expiresIn: () => 0 }),
  },
  {
    name: 'is reentrant',
    killedBy: ['2.2', '7.4'],
    driver: (driver) => {
      const mine = new Map<string, Awaited<ReturnType<typeof driver.acquire>>>();
      return passDriver(driver, {
        acquire: async (name, options) => {
          const held = mine.get(name);
          if (held !== undefined && !held.lost.aborted) return held;
          const grant = await driver.acquire(name, options);
          const kept = passGrant(grant, {
            release: async () => {
              mine.delete(name);
              await grant.release();
            },
          });
          mine.set(name, kept);
          return kept;
        },
      });
    },
  },
  {
    name: 'keeps every view to itself',
    killedBy: ['2.3', '2.7', '3.2'],
    driver: (driver) => {
      const own = new MemoryLeaserDriver(new MemoryLeases());
      return passDriver(driver, {
        acquire: async (name, options) => await own.acquire(name, options),
        changed: async (name, options) => {
          await own.changed(name, options);
        },
      });
    },
  },
  {
    name: 'does not tell who holds a lease',
    killedBy: ['2.4', '2.5'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => await driver.acquire(name, { ...options, owner: {} }),
      }),
  },
  {
    name: 'reads the owner after the call has returned',
    killedBy: ['2.5'],
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        await Promise.resolve();
        return await acquire(name, options);
      });
    },
  },
  {
    name: 'looks, waits, and then takes without looking again',
    killedBy: ['2.6', '2.7'],
    driver: (driver, { backend }) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const present = backend.leases.holder(name);
          if (present !== undefined) throw new LeaseHeldError(name, present.epoch, present.owner);
          await turns(3);
          backend.leases.expire(name, { silently: true });
          return await driver.acquire(name, options);
        },
      }),
  },
  {
    name: 'excludes inside one view only by looking first',
    killedBy: ['2.7'],
    driver: (driver, { backend }) => {
      let line: Promise<unknown> = Promise.resolve();
      return passDriver(driver, {
        acquire: async (name, options) => {
          const turn = line.then(async () => {
            const present = backend.leases.holder(name);
            if (present !== undefined) throw new LeaseHeldError(name, present.epoch, present.owner);
            await turns(3);
            backend.leases.expire(name, { silently: true });
            return await driver.acquire(name, options);
          });
          line = turn.catch(() => undefined);
          return await turn;
        },
      });
    },
  },
  {
    name: 'disturbs the holder by asking for its lease',
    killedBy: ['2.4', '2.8'],
    driver: (driver, { backend }) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          try {
            return await driver.acquire(name, options);
          } catch (error) {
            if (LeaseHeldError.is(error)) backend.leases.expire(name, { silently: true });
            throw error;
          }
        },
      }),
  },
  {
    name: 'counts attempts and leaves a claim after a refusal',
    killedBy: ['2.8'],
    driver: (driver, { backend }) => {
      const claims = new Set<string>();
      return passDriver(driver, {
        acquire: async (name, options) => {
          if (claims.has(name) && backend.leases.holder(name) === undefined)
            throw new LeaseHeldError(name, 1);
          try {
            return await driver.acquire(name, options);
          } catch (error) {
            claims.add(name);
            throw error;
          }
        },
      });
    },
  },
  {
    name: 'releases every lease of a view with the first',
    killedBy: ['2.9'],
    driver: (driver, { backend }) => {
      const names = new Set<string>();
      return passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          names.add(name);
          return passGrant(grant, {
            release: async () => {
              await grant.release();
              for (const other of names) backend.leases.expire(other);
            },
          });
        },
      });
    },
  },
  {
    name: 'deletes the record, and the counter with it, on release',
    killedBy: ['3.1', '3.2', '3.5'],
    driver: (driver) => restarting(driver, new Map()),
  },
  {
    name: 'counts epochs per view',
    killedBy: ['3.2', '3.3', '5.9'],
    driver: (driver) => {
      const counters = new Map<string, number>();
      return passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          const epoch = Math.max(counters.get(name) ?? 0, options.above) + 1;
          counters.set(name, epoch);
          return passGrant(grant, { epoch });
        },
      });
    },
  },
  {
    name: 'forgets the counter when the last view is closed',
    killedBy: ['3.3'],
    driver: (driver, { backend }) => {
      const base = forgotten.get(backend) ?? 0;
      return passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          forgotten.set(backend, grant.epoch - 1 - (forgotten.get(backend) ?? 0));
          return passGrant(grant, { epoch: Math.max(options.above + 1, grant.epoch - base) });
        },
      });
    },
  },
  {
    name: 'ignores the number that the caller knows',
    killedBy: ['3.4', '3.5', '3.6'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => await driver.acquire(name, { ...options, above: 0 }),
      }),
  },
  {
    name: 'looks at the number that the caller knows only while a name is new to it',
    killedBy: ['3.4'],
    driver: (driver) => {
      const known = new Set<string>();
      return passDriver(driver, {
        acquire: async (name, options) => {
          const above = known.has(name) ? 0 : options.above;
          known.add(name);
          return await driver.acquire(name, { ...options, above });
        },
      });
    },
  },
  {
    name: 'believes the caller although its own counter is higher',
    killedBy: ['3.5'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          return options.above > 0 ? passGrant(grant, { epoch: options.above + 1 }) : grant;
        },
      }),
  },
  {
    name: 'keeps epochs as 32-bit floating point',
    killedBy: ['3.6'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          return grant.epoch < Number.MAX_SAFE_INTEGER
            ? passGrant(grant, { epoch: Math.fround(grant.epoch) })
            : grant;
        },
      }),
  },
  {
    name: 'starts again at one when numbers run out',
    killedBy: ['3.7'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const grant = await driver.acquire(name, options);
          return Number.isSafeInteger(grant.epoch) ? grant : passGrant(grant, { epoch: 1 });
        },
      }),
  },
  {
    name: 'takes any value for "above" as zero',
    killedBy: ['3.8'],
    leaser: (leaser) => {
      replaceAcquire(leaser, async (acquire, name, options) => {
        const above = Number.isSafeInteger(options.above) && Number(options.above) >= 0 ? options.above : 0;
        return await acquire(name, { ...options, above: above === Number.MAX_SAFE_INTEGER ? 0 : above });
      });
    },
  },
  {
    name: 'frees a released name a moment later',
    killedBy: ['4.1', '3.1'],
    grant: (grant) =>
      passGrant(grant, {
        release: async () => {
          later(30, async () => {
            await grant.release();
          });
          await Promise.resolve();
        },
      }),
  },
  {
    name: 'does not abort the signal on release',
    killedBy: ['4.2'],
    lease: (lease) => passLease(lease, { signal: pending() }),
  },
  {
    name: 'aborts the signal after the name was given away',
    killedBy: ['4.3'],
    lease: (lease) => {
      const controller = new AbortController();
      lease.signal.addEventListener('abort', () => {
        later(40, () => {
          controller.abort(lease.signal.reason);
        });
      });
      return passLease(lease, { signal: controller.signal });
    },
  },
  {
    name: 'fails a second release',
    killedBy: ['4.4'],
    lease: (lease) => {
      let released = false;
      return passLease(lease, {
        release: async () => {
          if (released) throw new Error('not held');
          released = true;
          await lease.release();
        },
      });
    },
  },
  {
    name: 'frees the name, whoever has it, at every release',
    killedBy: ['4.5', '4.6', '4.7'],
    lease: (lease, { backend }) =>
      passLease(lease, {
        release: async () => {
          await lease.release();
          backend.leases.expire(lease.name);
        },
      }),
  },
  {
    name: 'frees the name without comparing the epoch',
    killedBy: ['4.6', '4.7'],
    grant: (grant, name, { backend }) =>
      passGrant(grant, {
        release: async () => {
          await grant.release();
          backend.leases.expire(name);
        },
      }),
  },
  {
    name: 'fails a release after a loss',
    killedBy: ['4.7', '5.3'],
    lease: (lease) =>
      passLease(lease, {
        release: async () => {
          const reason: unknown = lease.signal.reason;
          if (LeaseLostError.is(reason) && reason.kind !== 'released') throw reason;
          await lease.release();
        },
      }),
  },
  {
    name: 'does nothing at the end of a scope',
    killedBy: ['4.8'],
    lease: (lease) => passLease(lease, { [Symbol.asyncDispose]: async () => await Promise.resolve() }),
  },
  {
    name: 'gives the lease back when it is checked',
    killedBy: ['5.1', '2.9'],
    grant: (grant) =>
      passGrant(grant, {
        check: async (options) => {
          const stands = await grant.check(options);
          await grant.release();
          return stands;
        },
      }),
  },
  {
    name: 'does not tell the holder that its time has run out',
    killedBy: ['5.2', '4.7'],
    grant: (grant) => passGrant(grant, { lost: pending() }),
  },
  {
    name: 'makes up a new reason at every check',
    killedBy: ['5.3'],
    lease: (lease) =>
      passLease(lease, {
        check: async (options) => {
          if (!lease.held) throw freshLoss(lease);
          await lease.check(options);
        },
      }),
  },
  {
    name: 'checks without asking the backend',
    killedBy: ['5.4', '5.7'],
    grant: (grant) => passGrant(grant, { check: async () => await Promise.resolve(!grant.lost.aborted) }),
  },
  {
    name: 'confirms an expired lease as long as nobody else came',
    killedBy: ['5.5'],
    grant: (grant, name, { backend }) =>
      passGrant(grant, {
        check: async (options) => (await grant.check(options)) || backend.leases.epoch(name) === grant.epoch,
      }),
  },
  {
    name: 'does not pass the signal of check on',
    killedBy: ['5.6'],
    lease: (lease) => passLease(lease, { check: async () => await lease.check() }),
  },
  {
    name: 'takes an outage for a loss',
    killedBy: ['5.7'],
    grant: (grant) =>
      passGrant(grant, { check: async (options) => await grant.check(options).catch(() => false) }),
  },
  {
    name: 'takes an outage for "held"',
    killedBy: ['5.8'],
    driver: (driver) =>
      passDriver(driver, {
        acquire: async (name, options) =>
          await driver.acquire(name, options).catch((error: unknown) => {
            throw LeaseHeldError.is(error) ? error : new LeaseHeldError(name, 1);
          }),
      }),
  },
  {
    name: 'takes an outage for "free"',
    killedBy: ['5.8'],
    driver: (driver, context) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          const { backend } = context;
          if (context.reachable() || backend.leases.holder(name) !== undefined)
            return await driver.acquire(name, options);
          return await new MemoryLeaserDriver(new MemoryLeases()).acquire(name, options);
        },
      }),
  },
  {
    name: 'keeps the leases of a crashed holder for ever',
    killedBy: ['5.9', '6.8'],
    crash: () => undefined,
  },
  {
    name: 'takes a damaged record for an absent one',
    killedBy: ['5.10'],
    driver: (driver, { backend }) =>
      passDriver(driver, {
        acquire: async (name, options) => {
          if (backend.damaged.delete(name)) backend.leases.expire(name, { silently: true });
          return await driver.acquire(name, options);
        },
      }),
  },
];

const forgotten = new WeakMap<object, number>();

/** Epochs that count from the last release. */
function restarting(driver: LeaserDriver, bases: Map<string, number>): LeaserDriver {
  return passDriver(driver, {
    acquire: async (name, options) => {
      const grant = await driver.acquire(name, options);
      const epoch = Math.max(grant.epoch - (bases.get(name) ?? 0), options.above + 1);
      return passGrant(grant, {
        epoch,
        release: async () => {
          bases.set(name, grant.epoch);
          await grant.release();
        },
      });
    },
  });
}
