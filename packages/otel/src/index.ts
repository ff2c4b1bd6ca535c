// What sessions tell on their diagnostics channel, as spans and metrics of OpenTelemetry.
export { type TraceSessionsOptions, traceSessions } from './trace-sessions.js';
