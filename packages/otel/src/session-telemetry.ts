import type { SessionNotice } from '@holdfast/session';
import {
  type Attributes,
  type Context,
  type Counter,
  context,
  type Histogram,
  type Meter,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';

type Failure = Extract<SessionNotice, { readonly type: 'checkpoint-failed' }>['error'];

/** Turns notices into spans and measurements. One for all sessions of a process. */
export class SessionTelemetry {
  readonly #tracer: Tracer;
  readonly #checkpointSeconds: Histogram;
  readonly #checkpointBytes: Histogram;
  readonly #restoreSeconds: Histogram;
  readonly #restoreBytes: Histogram;
  readonly #maintenanceSeconds: Histogram;
  readonly #faults: Counter;
  /** Begun and not ended, oldest first, by what their end is told with. */
  readonly #open = new Map<string, Span[]>();
  /** The restore that a session is in: they go one after another. */
  readonly #restores = new Map<string, Span>();
  readonly #faulted = new Set<string>();

  constructor(tracer: Tracer, meter: Meter) {
    this.#tracer = tracer;
    const seconds = { unit: 's', description: 'from the begin to the outcome' };
    this.#checkpointSeconds = meter.createHistogram('holdfast.checkpoint.duration', seconds);
    this.#checkpointBytes = meter.createHistogram('holdfast.checkpoint.stored', { unit: 'By' });
    this.#restoreSeconds = meter.createHistogram('holdfast.restore.duration', seconds);
    this.#restoreBytes = meter.createHistogram('holdfast.restore.written', { unit: 'By' });
    this.#maintenanceSeconds = meter.createHistogram('holdfast.maintenance.duration', seconds);
    this.#faults = meter.createCounter('holdfast.session.faults', { unit: '{fault}' });
  }

  notice(session: string, notice: SessionNotice): void {
    switch (notice.type) {
      case 'checkpoint-started': {
        const { trigger } = notice;
        const restore = trigger === 'safety' ? this.#restores.get(session) : undefined;
        const parent = restore === undefined ? context.active() : trace.setSpan(context.active(), restore);
        const attributes = { 'holdfast.trigger': trigger };
        this.#begin('holdfast.checkpoint', session, `checkpoint ${trigger}`, attributes, parent);
        return;
      }
      case 'checkpoint-finished': {
        const { trigger, ref, filesRead, bytesStored, durationMs } = notice;
        const attributes = { 'holdfast.trigger': trigger, 'holdfast.outcome': 'done' };
        this.#checkpointSeconds.record(durationMs / 1000, attributes);
        this.#checkpointBytes.record(bytesStored, { 'holdfast.trigger': trigger });
        this.#finish(session, `checkpoint ${trigger}`, {
          'holdfast.ref': ref,
          'holdfast.files_read': filesRead,
          'holdfast.bytes_stored': bytesStored,
        });
        return;
      }
      case 'checkpoint-failed': {
        const { trigger, error, durationMs } = notice;
        const attributes = { 'holdfast.trigger': trigger, 'holdfast.outcome': 'failed' };
        this.#checkpointSeconds.record(durationMs / 1000, attributes);
        this.#fail(session, `checkpoint ${trigger}`, error);
        return;
      }
      case 'restore-started': {
        const { restoreId, ref } = notice;
        const attributes = { 'holdfast.restore_id': restoreId, 'holdfast.ref': ref };
        const span = this.#begin('holdfast.restore', session, restoreId, attributes, context.active());
        this.#restores.set(session, span);
        return;
      }
      case 'restore-progress':
        this.#open.get(keyOf(session, notice.restoreId))?.[0]?.addEvent(notice.step);
        return;
      case 'restore-finished': {
        const { restoreId, bytesWritten, durationMs } = notice;
        this.#restoreSeconds.record(durationMs / 1000, { 'holdfast.outcome': 'done' });
        this.#restoreBytes.record(bytesWritten);
        this.#restores.delete(session);
        this.#finish(session, restoreId, { 'holdfast.bytes_written': bytesWritten });
        return;
      }
      case 'restore-failed': {
        const { restoreId, error, durationMs } = notice;
        this.#restoreSeconds.record(durationMs / 1000, { 'holdfast.outcome': 'failed' });
        this.#restores.delete(session);
        this.#fail(session, restoreId, error);
        return;
      }
      case 'maintenance-finished':
        this.#maintenanceSeconds.record(notice.durationMs / 1000, { 'holdfast.outcome': 'done' });
        return;
      case 'maintenance-failed':
        this.#maintenanceSeconds.record(notice.durationMs / 1000, { 'holdfast.outcome': 'failed' });
        return;
      case 'fault-changed': {
        const { fault } = notice;
        if (fault === undefined) this.#faulted.delete(session);
        else if (!this.#faulted.has(session)) {
          this.#faulted.add(session);
          this.#faults.add(1, { 'holdfast.fault': fault.reason });
        }
        return;
      }
      case 'phase-changed':
        if (notice.phase === 'closed') this.#forget(session);
        return;
      case 'checkpoint-progress':
        return;
    }
  }

  /** Ends every span that is open. */
  end(): void {
    for (const spans of this.#open.values()) for (const span of spans) span.end();
    this.#open.clear();
    this.#restores.clear();
    this.#faulted.clear();
  }

  #begin(name: string, session: string, what: string, attributes: Attributes, parent: Context): Span {
    const given = { 'holdfast.session': session, ...attributes };
    const span = this.#tracer.startSpan(name, { attributes: given }, parent);
    const key = keyOf(session, what);
    this.#open.set(key, [...(this.#open.get(key) ?? []), span]);
    return span;
  }

  #finish(session: string, what: string, attributes: Attributes): void {
    const span = this.#take(session, what);
    span?.setAttributes(attributes);
    span?.end();
  }

  #fail(session: string, what: string, { code, kind, message }: Failure): void {
    const span = this.#take(session, what);
    span?.setAttribute('error.type', code ?? '_OTHER');
    if (kind !== undefined) span?.setAttribute('holdfast.kind', kind);
    span?.setStatus({ code: SpanStatusCode.ERROR, message });
    span?.end();
  }

  /** What began before anybody listened has no span. */
  #take(session: string, what: string): Span | undefined {
    const key = keyOf(session, what);
    const [first, ...rest] = this.#open.get(key) ?? [];
    if (rest.length === 0) this.#open.delete(key);
    else this.#open.set(key, rest);
    return first;
  }

  #forget(session: string): void {
    for (const [key, spans] of this.#open) {
      if (!key.startsWith(`${session} `)) continue;
      for (const span of spans) span.end();
      this.#open.delete(key);
    }
    this.#restores.delete(session);
    this.#faulted.delete(session);
  }
}

function keyOf(session: string, what: string): string {
  return `${session} ${what}`;
}
