/**
 * @typedef {object} Place Where an event is, or was said to be.
 * @property {string} id
 * @property {number} seq
 * @property {number} epoch
 */

/**
 * What is wrong with the journal of one session after take-overs: every acknowledged append has to be there exactly once, at
 * its place and in its epoch, and epochs never fall, because a lower one behind a higher one was written by a holder that
 * had been overtaken.
 * @param {string} session
 * @param {readonly Place[]} events All of the journal, in order.
 * @param {readonly Place[]} acknowledged What its writers were told.
 * @returns {string[]}
 */
export function judgeSession(session, events, acknowledged) {
  /** @type {string[]} */
  const problems = [];
  /** @type {Map<string, Place>} */
  const places = new Map();
  let epoch = 0;
  for (const event of events) {
    if (places.has(event.id)) problems.push(`${session}: ${event.id} is there twice`);
    if (event.epoch < epoch) problems.push(`${session}: epoch ${event.epoch} after ${epoch} at ${event.seq}`);
    epoch = event.epoch;
    places.set(event.id, event);
  }
  for (const { id, seq, epoch: written } of acknowledged) {
    const place = places.get(id);
    if (place?.seq === seq && place.epoch === written) continue;
    const found = place === undefined ? 'nowhere' : `at ${place.seq} (epoch ${place.epoch})`;
    problems.push(`${session}: ${id} was acknowledged at ${seq} (epoch ${written}), found ${found}`);
  }
  return problems;
}
