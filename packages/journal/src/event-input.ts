import type { JsonValue } from '@holdfast/base';

import type { CatalogueBodies, CatalogueType, PrivateBodies, PrivateType } from './event-bodies.js';

/** The body that an event of a type has: the catalogue's, or any JSON value for an application's own type. */
export type EventBody<T extends string> = T extends CatalogueType ? CatalogueBodies[T] : JsonValue;

/** The body that a private record of a type has. */
export type PrivateBody<T extends string> = T extends PrivateType ? PrivateBodies[T] : JsonValue;

/** An event to append. */
export interface EventInput<T extends string = string> {
  /** A type of the catalogue, or an application's own, which begins with a lower-case letter. */
  readonly type: T;
  readonly body: EventBody<T>;
  /** Repeating an id with equal content returns the first record. Default: fresh and random. */
  readonly id?: string | undefined;
  /** The loop that the event belongs to. */
  readonly loop?: string | undefined;
  /** Milliseconds since 1970. Default: the clock's now. */
  readonly time?: number | undefined;
}

/** A private record to append: part of the journal, never of the event stream. */
export interface PrivateInput<T extends string = string> {
  /** Begins with a lower-case letter. */
  readonly type: T;
  readonly body: PrivateBody<T>;
  readonly id?: string | undefined;
  readonly time?: number | undefined;
}

/** One of several records that are appended together. */
export type BatchInput =
  | ({ readonly kind: 'event' } & EventInput)
  | ({ readonly kind: 'private' } & PrivateInput);

/** Where a record is. */
export interface Appended {
  readonly seq: number;
  readonly id: string;
}

/** An event as the stream yields it. */
export interface EventOf<T extends string> {
  readonly seq: number;
  readonly id: string;
  readonly type: T;
  readonly time: number;
  readonly epoch: number;
  readonly loop: string | undefined;
  readonly body: EventBody<T>;
  /** Members of the record that this version does not know. */
  readonly extra: Readonly<Record<string, JsonValue>>;
}

type LowerCaseLetter =
  | ('a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm')
  | ('n' | 'o' | 'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v' | 'w' | 'x' | 'y' | 'z');

/** The type of an application's own event. */
export type ApplicationType = `${LowerCaseLetter}${string}`;

/** Any event of the catalogue; `switch (event.type)` narrows the body. */
export type CatalogueEvent = { [T in CatalogueType]: EventOf<T> }[CatalogueType];

/**
 * Any event of a session. A journal written by a newer version may hold catalogue types that this one does not name:
 * give a `switch` a default.
 */
export type SessionEvent = CatalogueEvent | EventOf<ApplicationType>;

/** An event that was checked, stamped and written out in advance: nothing but its append can fail any more. */
export interface PreparedEvent {
  readonly type: string;
  readonly id: string;
  readonly time: number;
  readonly loop: string | undefined;
  readonly body: JsonValue;
  /** The event as JSON in UTF-8, for storing it until it is appended; `parsePreparedEvent` reads it. */
  readonly bytes: Uint8Array;
}
