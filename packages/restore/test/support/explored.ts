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
