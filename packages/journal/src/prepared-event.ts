import { checkEvent } from './event-catalogue.js';
import type { PreparedEvent } from './event-input.js';
import { parseJsonText } from './internal/json-text.js';
import { isObject } from './internal/schema.js';
import { isRecordId } from './record.js';
import { EventInvalidError } from './session-errors.js';

/**
 * Reads what `PreparedEvent.bytes` holds, for appending it after a restart.
 * @throws EventInvalidError when the bytes are not a prepared event.
 */
export function parsePreparedEvent(bytes: Uint8Array): PreparedEvent {
  const owned = Uint8Array.from(bytes);
  const refuse = (path: string, detail: string, cause?: unknown): EventInvalidError =>
    new EventInvalidError('prepared', 'not-json', path, detail, { cause });
  let value: unknown;
  try {
    value = parseJsonText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(owned));
  } catch (error) {
    throw refuse('bytes', 'not JSON text in UTF-8', error);
  }
  if (!isObject(value as never)) throw refuse('bytes', 'not an object');
  const { id, time, loop, type, body } = value as PreparedEvent;
  if (!isRecordId(id)) throw refuse('id', 'not a record id');
  if (!Number.isSafeInteger(time)) throw refuse('time', 'not whole milliseconds');
  if (loop !== undefined && typeof loop !== 'string') throw refuse('loop', 'not text');
  if (body === undefined) throw refuse('body', 'is missing');
  checkEvent(type, body);
  return Object.freeze({ type, id, time, loop, body, bytes: owned });
}
