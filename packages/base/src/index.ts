export { abandonOnAbort, anySignal, onAbort, throwIfAborted, uniformAbort } from './abort.js';
export { compareBytes, concatBytes, equalBytes, fromHex, toHex } from './bytes.js';
export { type Clock, type SleepOptions, systemClock } from './clock.js';
export { Pacer, type PacerOptions, yieldToEventLoop } from './cooperate.js';
export { DisposalStack } from './disposal.js';
export {
  type Effect,
  type ErrorClass,
  type ErrorFields,
  type ErrorJson,
  findCause,
  HoldfastError,
  type HoldfastErrorOptions,
  isHoldfastError,
  type JsonValue,
  quote,
  textOf,
} from './errors.js';
export { Hints, type HintWait } from './hints.js';
export {
  brokenNameRule,
  InvalidNameError,
  maxNameBytes,
  type NameRule,
  parseName,
  parseNamePrefix,
} from './names.js';
export { decodePathText, encodePathText } from './path-text.js';
export { type Random, randomHex, systemRandom } from './random.js';
export { createSha256, type Sha256, sha256, sha256Hex } from './sha256.js';
export { withoutCredentials } from './without-credentials.js';
