import { progressOf } from './state.mjs';

/** @typedef {import('./table.mjs').Campaign} Campaign */
/** @typedef {import('./state.mjs').State} State */
/** @typedef {import('./state.mjs').Progress} Progress */

/** Between the seeds of two rounds: a round may draw from the seeds that follow its own. */
export const seedStep = 1_000;

/** @param {Progress} progress @returns {number} The seed of the next round. */
export function nextSeed(progress) {
  return progress.firstSeed + progress.rounds * seedStep;
}

/** Rounds with a violation after which a campaign waits for somebody to look. */
const mostViolations = 3;

/**
 * Whether a campaign has reached what the table of effort asks of a long run. One without a goal in a unit is over when
 * it has run once: it does everything in a round. One that fails again and again is over too: it would have all the time.
 * @param {Campaign} campaign
 * @param {Progress} progress
 */
export function isOver(campaign, progress) {
  if (progress.leftOut !== undefined || progress.violations.length >= mostViolations) return true;
  if (campaign.goal === undefined) return progress.rounds > 0;
  return (progress.counts[campaign.goal.unit] ?? 0) >= campaign.goal.count;
}

/**
 * The campaign whose turn it is: every one once, in the order of the table, then whichever has had the least time for
 * its weight. `undefined` when all are over.
 * @param {readonly Campaign[]} campaigns
 * @param {State} state
 * @param {number} seed
 * @returns {Campaign | undefined}
 */
export function nextCampaign(campaigns, state, seed) {
  /** @type {{ campaign: Campaign, used: number } | undefined} */
  let best;
  for (const campaign of campaigns) {
    const progress = progressOf(state, campaign.name, seed);
    if (isOver(campaign, progress)) continue;
    const used = progress.rounds === 0 ? 0 : progress.seconds / campaign.weight;
    if (best === undefined || used < best.used) best = { campaign, used };
  }
  return best?.campaign;
}
