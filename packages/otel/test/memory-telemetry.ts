import {
  type Attributes,
  type Meter,
  type Span,
  type SpanStatus,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';

/** A span as it was told. */
export interface ToldSpan {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: Attributes;
  readonly events: readonly string[];
  readonly status: SpanStatus;
  readonly ended: boolean;
}

/** Keeps what an instrumentation tells, in memory. */
export class MemoryTelemetry {
  readonly spans: ToldSpan[] = [];
  readonly measured: { readonly name: string; readonly value: number; readonly attributes: Attributes }[] =
    [];

  readonly tracer: Tracer = {
    startSpan: (name, options = {}, context) => {
      const above = context === undefined ? undefined : trace.getSpan(context);
      const told = {
        name,
        parent: this.#names.get(above as Span),
        attributes: { ...options.attributes } as Attributes,
        events: [] as string[],
        status: { code: SpanStatusCode.UNSET } as SpanStatus,
        ended: false,
      };
      const span = {
        setAttribute: (key: string, value: string) => {
          if (told.ended) throw new Error('the span has ended');
          told.attributes[key] = value;
        },
        setAttributes: (attributes: Attributes) => {
          if (told.ended) throw new Error('the span has ended');
          Object.assign(told.attributes, attributes);
        },
        setStatus: (status: SpanStatus) => {
          told.status = status;
        },
        addEvent: (event: string) => {
          told.events.push(event);
        },
        end: () => {
          if (told.ended) throw new Error('the span was ended twice');
          told.ended = true;
        },
      } as unknown as Span;
      this.#names.set(span, name);
      this.spans.push(told);
      return span;
    },
    startActiveSpan: () => {
      throw new Error('not used');
    },
  };

  readonly meter: Meter = {
    createHistogram: (name: string) => ({ record: this.#measure(name) }),
    createCounter: (name: string) => ({ add: this.#measure(name) }),
  } as unknown as Meter;

  readonly #names = new WeakMap<Span, string>();

  /** Values that were measured under a name, with their attributes. */
  of(name: string): readonly (readonly [number, Attributes])[] {
    return this.measured
      .filter((one) => one.name === name)
      .map(({ value, attributes }) => [value, attributes]);
  }

  #measure(name: string) {
    return (value: number, attributes: Attributes = {}): void => {
      this.measured.push({ name, value, attributes });
    };
  }
}
