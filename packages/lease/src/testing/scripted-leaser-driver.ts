import { type BackendFault, type FaultScript, InjectedFault, plainFaults } from '@holdfast/base/testing';

import type { LeaseGrant, LeaserDriver } from '../driver.js';
import { LeaseHeldError, LeaseLostError } from '../errors.js';

/** Operations of a leaser that a fault can hit. */
export type LeaserFaultOperation = 'acquire' | 'check' | 'release';

const everywhere: readonly BackendFault[] = ['error-before', 'io-error', 'throttled', 'revoked'];

/** Which of the eighteen kinds can happen to which operation; leases are neither listed nor streamed. */
export const leaserFaults: Readonly<Record<LeaserFaultOperation, readonly BackendFault[]>> = Object.freeze({
  acquire: [
    ...everywhere,
    ...(['error-after', 'timeout', 'twice', 'short-write', 'sync-error'] as const),
    ...(['clock-jump', 'lost-acknowledged', 'condition-ignored'] as const),
  ],
  check: [...everywhere, 'stale-read'],
  release: [...everywhere, 'error-after', 'timeout', 'twice', 'lost-acknowledged'],
});

/** Passes calls on to another driver, and makes those go wrong that a script names. Never for production. */
export function scriptedLeaserDriver(
  inner: LeaserDriver,
  script: FaultScript<LeaserFaultOperation>,
): LeaserDriver {
  const before = (operation: LeaserFaultOperation): BackendFault | undefined => {
    const kind = script.next(operation);
    if (kind !== undefined && plainFaults.has(kind)) throw new InjectedFault(kind, operation);
    return kind;
  };
  return {
    contract: 'lease/1',
    supports: inner.supports,
    storagePaths: () => inner.storagePaths(),
    ...(inner.checkName === undefined ? {} : { checkName: (name: string) => inner.checkName?.(name) }),
    acquire: async (name, options) => {
      const kind = before('acquire');
      if (kind === 'timeout') {
        // Granted when nobody waits for it any more: a driver gives back what it does not know to be its own.
        script.later(async () => {
          await (await inner.acquire(name, { owner: options.owner, above: options.above })).release();
        });
        throw new InjectedFault(kind, 'acquire');
      }
      if (kind === 'condition-ignored') return await grantedAgain(inner, name, options);
      const grant = await inner.acquire(name, options);
      if (kind === 'error-after' || kind === 'sync-error') {
        await grant.release();
        throw new InjectedFault(kind, 'acquire');
      }
      if (kind === 'twice') {
        await inner.acquire(name, options).catch(() => undefined);
      }
      // The backend forgets at once, and whoever asks next gets it.
      if (kind === 'lost-acknowledged') await grant.release();
      return scriptedGrant(grant, name, { kind, before, script });
    },
    changed: async (name, options) => {
      await inner.changed(name, options);
    },
    close: async () => {
      await inner.close();
    },
  };
}

interface GrantFaults {
  readonly kind: BackendFault | undefined;
  readonly before: (operation: LeaserFaultOperation) => BackendFault | undefined;
  readonly script: FaultScript<LeaserFaultOperation>;
}

function scriptedGrant(grant: LeaseGrant, name: string, { kind, before, script }: GrantFaults): LeaseGrant {
  const jumped = new AbortController();
  if (kind === 'clock-jump') jumped.abort(new LeaseLostError(name, grant.epoch, 'expired'));
  const forgotten = kind === 'lost-acknowledged';
  return {
    epoch: grant.epoch,
    lost: forgotten ? new AbortController().signal : kind === 'clock-jump' ? jumped.signal : grant.lost,
    expiresIn: () => (kind === 'clock-jump' ? 0 : forgotten ? Infinity : grant.expiresIn()),
    check: async (options) => {
      const fault = before('check');
      // What it was: held.
      return fault === 'stale-read' || forgotten ? true : await grant.check(options);
    },
    release: async () => {
      const fault = before('release');
      if (fault === 'lost-acknowledged') return;
      if (fault === 'timeout') {
        script.later(async () => {
          await grant.release();
        });
        throw new InjectedFault(fault, 'release');
      }
      await grant.release();
      if (fault === 'twice') await grant.release();
      if (fault === 'error-after') throw new InjectedFault(fault, 'release');
    },
  };
}

/** Grants what is held: under a name of its own, which nobody else asks for. */
async function grantedAgain(
  inner: LeaserDriver,
  name: string,
  options: Parameters<LeaserDriver['acquire']>[1],
): Promise<LeaseGrant> {
  try {
    return await inner.acquire(name, options);
  } catch (error) {
    if (!LeaseHeldError.is(error)) throw error;
    return await inner.acquire(`${name}-again-${String(Math.trunc(options.above))}`, options);
  }
}
