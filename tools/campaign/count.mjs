import { appendFileSync } from 'node:fs';

/**
 * Tells a campaign how much of something a test has just done; does nothing outside of a campaign. Call it where the
 * work is over and before expectations, so that what was tried before a violation is counted too.
 * @param {string} unit What was done, in the plural: "disks after one crash".
 * @param {number} count
 */
export function countForCampaign(unit, count) {
  const file = process.env['HOLDFAST_COUNTS'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ unit, count })}\n`);
}
