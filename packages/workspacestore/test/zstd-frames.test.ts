import { goldenFile } from '@holdfast/workspacestore/testing';
import { describe, expect, test } from 'vitest';
import { openTail } from '../src/internal/archive-tail.js';
import { FormatFault } from '../src/internal/byte-reader.js';
import { expandZstd, expandZstdInScript } from '../src/internal/zstd-decoder.js';
import { inspectZstdFrame } from '../src/internal/zstd-frame.js';

interface Frame {
  readonly bytes: Uint8Array;
  readonly rawLength: number;
}

/** Frames that another zstd wrote. */
function frames(): Frame[] {
  const { base64 } = goldenFile('archive-zstd.json') as { base64: string };
  const archive = Buffer.from(base64, 'base64');
  const { index } = openTail(archive, 0);
  return [...Array(index.frameCount).keys()]
    .map((number) => index.frame(number))
    .filter(({ codec }) => codec === 2)
    .map(({ offset, storedLength, rawLength }) => ({
      bytes: archive.subarray(offset, offset + storedLength),
      rawLength,
    }));
}

/** Magic, a descriptor, and what follows. */
const frame = (...rest: number[]): Uint8Array => Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, ...rest]);
const blockHeader = (kind: number, size: number, last = 1): number[] => {
  const word = last | (kind << 1) | (size << 3);
  return [word & 255, (word >> 8) & 255, word >> 16];
};

describe('frames', () => {
  test('of another writer say what they hold', () => {
    expect(frames().length).toBeGreaterThanOrEqual(3);
    for (const { bytes, rawLength } of frames()) {
      expect(inspectZstdFrame(bytes).contentSize).toBe(rawLength);
      const raw = Buffer.from(expandZstdInScript(bytes, rawLength));
      expect(raw).toHaveLength(rawLength);
      expect(raw.equals(expandZstd(bytes, rawLength, 65_536))).toBe(true);
    }
  });

  test('that are cut, or have something behind them, are refused', () => {
    const [first] = frames() as [Frame];
    for (let length = 0; length < first.bytes.length; length += 1 + (length >> 4))
      expect(() => inspectZstdFrame(first.bytes.subarray(0, length))).toThrow(FormatFault);
    expect(() => inspectZstdFrame(Buffer.concat([first.bytes, first.bytes]))).toThrow('another length');
    expect(() => inspectZstdFrame(Buffer.concat([first.bytes, Buffer.alloc(1)]))).toThrow('another length');
  });

  test.each([
    ['nothing', new Uint8Array(0), 'ends early'],
    ['another magic', Buffer.from('28b52ffc00', 'hex'), 'no zstd frame'],
    ['a skippable frame', Buffer.from('502a4d1804000000deadbeef', 'hex'), 'no zstd frame'],
    ['a dictionary', frame(0x21, 9, 5, ...blockHeader(0, 5), 1, 2, 3, 4, 5), 'dictionary'],
    ['a reserved bit', frame(0x28, 5, ...blockHeader(0, 5), 1, 2, 3, 4, 5), 'reserved'],
    ['a reserved kind of block', frame(0x20, 5, ...blockHeader(3, 5), 1, 2, 3, 4, 5), 'no known kind'],
    ['a run of 2 MiB', frame(0x20, 5, ...blockHeader(1, 2 ** 21 - 1), 7), 'no known kind or size'],
    ['no last block', frame(0x20, 5, ...blockHeader(0, 5, 0), 1, 2, 3, 4, 5), 'ends early'],
  ])('with %s are refused', (_what, bytes, message) => {
    expect(() => expandZstd(bytes, 5, 1024)).toThrow(message);
    expect(() => expandZstd(bytes, 5, 1024)).toThrow(FormatFault);
  });

  test('that announce another size, a huge window, or make more than they announce, are refused', () => {
    const announced = frame(0x20, 6, ...blockHeader(0, 5), 1, 2, 3, 4, 5);
    expect(() => expandZstd(announced, 5, 1024)).toThrow('a frame of 6 bytes, not 5');
    const windowed = frame(0x00, 0xa0, ...blockHeader(0, 5), 1, 2, 3, 4, 5);
    expect(inspectZstdFrame(windowed)).toEqual({ contentSize: undefined, windowSize: 2 ** 30 });
    expect(() => expandZstd(windowed, 5, 1024)).toThrow('huge window');
    const more = frame(0x20, 5, ...blockHeader(1, 5, 0), 7, ...blockHeader(1, 5), 7);
    expect(() => expandZstdInScript(more, 5)).toThrow('more than 5 bytes');
    const run = frame(0x20, 5, ...blockHeader(1, 5), 7);
    expect([...expandZstdInScript(run, 5)]).toEqual([7, 7, 7, 7, 7]);
  });
});
