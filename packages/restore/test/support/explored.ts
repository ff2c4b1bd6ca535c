import { exploreCrashes } from '@holdfast/durable/testing';
import { countForCampaign } from '../../../../tools/campaign/count.mjs';

/** Explores, and tells a campaign how much that was. */
export const explored: typeof exploreCrashes = async (scenario, options) => {
  const report = await exploreCrashes(scenario, {
    seed: Number(process.env['HOLDFAST_SEED'] ?? 1),
    ...options,
  });
  countForCampaign('disks after one crash', report.states[0] ?? 0);
  countForCampaign('disks after two crashes', report.states[1] ?? 0);
  return report;
};

/**
 * First crashes are drawn: corners and some combinations of a moment, moments in any order. Of the second one every moment
 * that is visited has all of its combinations, up to twelve pending changes.
 */
export const twiceCrashed = {
  crashes: 2,
  fewestCrashes: 2,
  exhaustiveUpTo: 2,
  samples: 3,
  shuffle: true,
  wholeMoments: true,
};
