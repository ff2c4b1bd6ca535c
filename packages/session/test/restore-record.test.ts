import { EventInvalidError } from '@holdfast/journal';
import { decodeRestoreRecord, encodeRestoreRecord, recordsOfRestore } from '@holdfast/session';
import { describe, expect, it } from 'vitest';

const event = {
  id: 'event-1',
  time: 1_700_000_000_000,
  type: 'WorkspaceRestored',
  body: { ref: `v1:sha256:${'0'.repeat(64)}` },
};
const whole = {
  v: 1,
  event: JSON.stringify(event),
  prepared: { restoreId: '0'.repeat(32), exact: true },
  rewind: { id: 'rewind-1', to: 'turn-1', seq: 4 },
};
const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

describe('what a restore keeps for the journal', () => {
  it('comes back as it was, with the rewind or without', () => {
    for (const rewind of [whole.rewind, undefined]) {
      const record = decodeRestoreRecord(bytesOf({ ...whole, rewind }));
      expect(record).toMatchObject({ event: { id: 'event-1' }, prepared: whole.prepared });
      expect(record.rewind).toEqual(rewind);
      expect(decodeRestoreRecord(encodeRestoreRecord(record))).toEqual(record);
      expect(recordsOfRestore(record)).toHaveLength(rewind === undefined ? 2 : 3);
    }
  });

  it.each([
    ['null', null],
    ['a list', []],
    ['a number', 1],
    ['another version', { ...whole, v: 2 }],
    ['no event', { ...whole, event: undefined }],
    ['an event that is none', { ...whole, event: '{}' }],
    ['nothing prepared', { ...whole, prepared: null }],
    ['a list of what was prepared', { ...whole, prepared: [] }],
    ['another thing prepared', { ...whole, prepared: { restoreId: 7 } }],
    ['a rewind that is none', { ...whole, rewind: null }],
    ['a rewind to nowhere', { ...whole, rewind: { id: 'r', to: 1, seq: 4 } }],
    ['a rewind without its place', { ...whole, rewind: { id: 'r', to: 't', seq: 'x' } }],
    ['a rewind without a name', { ...whole, rewind: { id: '../x', to: 't', seq: 1 } }],
  ])('is refused with a code when it is %s', (_, value) => {
    expect(() => decodeRestoreRecord(bytesOf(value))).toThrow(EventInvalidError);
  });

  it('is refused when it is no JSON in UTF-8', () => {
    for (const bytes of [bytesOf('').subarray(1), Uint8Array.of(0xff)])
      expect(() => decodeRestoreRecord(bytes)).toThrow(EventInvalidError);
  });
});
