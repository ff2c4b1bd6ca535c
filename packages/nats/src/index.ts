export {
  type NatsError,
  type NatsErrorCode,
  NatsRequestError,
  type NatsRequestFacts,
  NatsUnsuitableError,
  type NatsUnsuitableKind,
} from './errors.js';
export { maxNatsRecordBytes } from './ledger-driver.js';
export { type NatsOptions, type NatsStorage, openNats } from './open.js';
export { type NatsAcknowledgement, type NatsReport, type ProbeNatsOptions, probeNats } from './probe.js';
