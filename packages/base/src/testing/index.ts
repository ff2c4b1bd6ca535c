export { ManualClock } from './manual-clock.js';
export { seededRandom, type SeededRandom } from './seeded-random.js';
