import assert from 'node:assert/strict';

import type { CaseTools } from './case-helpers.js';
import type { LeaserRequirement } from './define-cases.js';

/** Leases run out when their holder is cut off; where they do not, they must say so. */
export const expiry: LeaserRequirement = {
  capability: 'harness.expire',
  met: (harness) => harness.expire !== undefined,
  otherwise: expectNoExpiry,
};

/** Leases run out while their holder is stopped; where they do not, they must say so. */
export const suspension: LeaserRequirement = {
  capability: 'harness.suspend',
  met: (harness) => harness.suspend !== undefined,
  otherwise: expectNoExpiry,
};

/** Only a driver whose holders live and die with this process can do without takeover after a crash. */
export const crash: LeaserRequirement = {
  capability: 'harness.crash',
  met: (harness) => harness.crash !== undefined,
  otherwise: async (tools) => {
    const { scope } = (await tools.fresh()).supports;
    assert.equal(
      scope,
      'process',
      'a driver whose scope passes one process must give the harness a crash function',
    );
  },
};

/** Only a driver without local files can do without a test of damaged ones. */
export const corruption: LeaserRequirement = {
  capability: 'harness.corrupt',
  met: (harness) => harness.corrupt !== undefined,
  otherwise: async (tools) => {
    const paths = (await tools.fresh()).storagePaths();
    assert.deepEqual(paths, [], 'a driver that writes local files must give the harness a corrupt function');
  },
};

/** Only the memory of one process cannot fail. */
export const outage: LeaserRequirement = {
  capability: 'harness.outage',
  met: (harness) => harness.outage !== undefined,
  otherwise: async (tools) => {
    const leaser = await tools.fresh();
    const inMemory = leaser.supports.scope === 'process' && leaser.storagePaths().length === 0;
    assert.ok(inMemory, 'a driver with a backend that can fail must give the harness an outage function');
  },
};

async function expectNoExpiry(tools: CaseTools): Promise<void> {
  const [first, second] = await tools.views();
  const lease = await tools.acquire(first, tools.name());
  assert.equal(
    lease.expiresIn(),
    Number.POSITIVE_INFINITY,
    'leases that run out need harness.expire and harness.suspend; leases that do not must report Infinity',
  );
  await tools.expectHeld(lease, second, 'a lease that does not run out must stand until it is released');
}
