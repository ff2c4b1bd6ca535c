import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { noticeChannelName, type SessionNotice } from '@holdfast/session';
import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';

import { SessionTelemetry } from './session-telemetry.js';

export interface TraceSessionsOptions {
  /** Default: the global provider's tracer `@holdfast/otel`. */
  readonly tracer?: Tracer | undefined;
  /** Default: the global provider's meter `@holdfast/otel`. */
  readonly meter?: Meter | undefined;
}

const instrumentation = '@holdfast/otel';

/**
 * Makes spans and metrics of what the sessions of this process do from now on, until the result is disposed; spans that
 * are open then are ended. Listens to the diagnostics channel of `@holdfast/session`: nothing of a session waits for it.
 *
 * Spans: `holdfast.checkpoint` and `holdfast.restore`; a safety checkpoint is a child of its restore. Histograms, in
 * seconds and bytes: `holdfast.checkpoint.duration`, `holdfast.checkpoint.stored`, `holdfast.restore.duration`,
 * `holdfast.restore.written`, `holdfast.maintenance.duration`. Counter: `holdfast.session.faults`.
 */
export function traceSessions(options: TraceSessionsOptions = {}): Disposable {
  const telemetry = new SessionTelemetry(
    options.tracer ?? trace.getTracer(instrumentation),
    options.meter ?? metrics.getMeter(instrumentation),
  );
  const listener = (message: unknown): void => {
    const { sessionId, notice } = message as { readonly sessionId: string; readonly notice: SessionNotice };
    telemetry.notice(sessionId, notice);
  };
  subscribe(noticeChannelName, listener);
  return {
    [Symbol.dispose]: () => {
      unsubscribe(noticeChannelName, listener);
      telemetry.end();
    },
  };
}
