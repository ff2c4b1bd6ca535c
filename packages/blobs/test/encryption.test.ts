import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { fromHex, sha256Hex, toHex } from '@holdfast/base';
import { type SeededRandom, seededRandom } from '@holdfast/base/testing';
import {
  BlobConflictError,
  BlobIntegrityError,
  BlobKeyError,
  BlobSourceError,
  type Blobs,
  isBlobsError,
  MemoryBlobStorage,
  memoryBlobs,
} from '@holdfast/blobs';
import {
  type BlobsLayer,
  type EncryptionOptions,
  encryptionLayer,
  layerBlobs,
  metricsLayer,
} from '@holdfast/blobs/layers';
import { describe, expect, test } from 'vitest';

import { expectBytes } from './support/expect-bytes.js';

const segment = 65_536;
const keys = { one: new Uint8Array(32).fill(1), two: new Uint8Array(32).fill(2) };
const vectors = JSON.parse(
  readFileSync(fileURLToPath(new URL('../vectors/encryption.json', import.meta.url)), 'utf8'),
) as {
  keys: Record<string, string>;
  nameKey: string;
  objects: {
    keyId: string;
    name: string;
    size: number;
    sealedSize: number;
    sha256: string;
    header: string;
  }[];
  names: { shown: string; hidden: string }[];
};

function contentOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (Math.imul(i, i) + 7 * (i >> 8)) & 255);
}

/** A store in memory: as callers see it, and what really lies there. */
function open(options: Partial<EncryptionOptions> = {}, storage = new MemoryBlobStorage()) {
  const stored = memoryBlobs({ storage });
  const blobs = layerBlobs(memoryBlobs({ storage }), [encryptionLayer({ keys, active: 'one', ...options })]);
  return { blobs, stored, storage };
}

/** Replaces what is stored, as somebody does who can write to the store. */
async function plant(stored: Blobs, key: string, bytes: Uint8Array): Promise<void> {
  await stored.delete(key);
  await stored.put(key, bytes);
}

/** What a reader got before it failed, and the failure. */
async function readUntilFailure(blobs: Blobs, key: string, range?: { start: number; end: number }) {
  const received: Uint8Array[] = [];
  try {
    for await (const chunk of await blobs.get(key, { range })) received.push(chunk);
  } catch (error) {
    return { received: Buffer.concat(received), failure: error };
  }
  return { received: Buffer.concat(received), failure: undefined };
}

describe('the format', () => {
  const given = Object.fromEntries(
    Object.entries(vectors.keys).map(([id, hex]) => [id, fromHex(hex) as Uint8Array]),
  );

  test.each(vectors.objects)(
    'of $size bytes under $keyId is what another implementation writes',
    async (vector) => {
      const { blobs, stored } = open({ keys: given, active: vector.keyId });
      await blobs.put(vector.name, contentOf(vector.size));
      const sealed = await stored.getBytes(vector.name);
      expect(toHex(sealed.subarray(0, 128))).toBe(vector.header);
      expect([sealed.length, sha256Hex(sealed)]).toEqual([vector.sealedSize, vector.sha256]);
      expectBytes(await blobs.getBytes(vector.name), contentOf(vector.size));
    },
  );

  test.each(vectors.names)('hides $shown as another implementation does', async ({ shown, hidden }) => {
    const nameKey = fromHex(vectors.nameKey) as Uint8Array;
    const { blobs, stored } = open({ nameKey });
    await blobs.put(`d/${shown}/x`, contentOf(1));
    expect(await keysOf(stored.list())).toEqual([`d/${hidden}/x`]);
    expect(await keysOf(blobs.list(`d/${shown.slice(0, 5)}`))).toEqual([`d/${shown}/x`]);
  });

  test('is still what the other implementation writes', () => {
    const script = fileURLToPath(new URL('../vectors/reference.py', import.meta.url));
    const { status, stderr } = spawnSync('python3', [script, '--check'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('a put', () => {
  test('again of the same content is no conflict, also after the key was changed', async () => {
    const { blobs, storage } = open();
    expect(await blobs.put('a', contentOf(100_000))).toEqual({ created: true });
    expect(await blobs.put('a', contentOf(100_000))).toEqual({ created: false });
    const rotated = open({ active: 'two' }, storage).blobs;
    expect(await rotated.put('a', contentOf(100_000))).toEqual({ created: false });
    await expect(rotated.put('a', contentOf(100_001))).rejects.toThrow(BlobConflictError);
    const other = contentOf(100_000);
    other[99_999] = (other[99_999] as number) ^ 1;
    await expect(rotated.put('a', other)).rejects.toThrow(BlobConflictError);
    await expect(blobs.put('a', other)).rejects.toThrow(BlobConflictError);
    expect(await rotated.put('b', contentOf(1))).toEqual({ created: true });
    expectBytes(await rotated.getBytes('a'), contentOf(100_000));
  });

  test('over an object whose key was not given cannot compare, and says so', async () => {
    const { blobs, storage } = open();
    await blobs.put('a', contentOf(10));
    const stranger = open({ keys: { two: keys.two }, active: 'two' }, storage).blobs;
    await expect(stranger.put('a', contentOf(10))).rejects.toMatchObject({
      code: 'BLOBS_KEY',
      kind: 'unknown',
    });
  });

  test('over an object that is not encrypted is a conflict', async () => {
    const { blobs, stored } = open();
    await stored.put('short', contentOf(10));
    await stored.put('long', contentOf(1000));
    await expect(blobs.put('short', contentOf(10))).rejects.toThrow(BlobConflictError);
    await expect(blobs.put('long', contentOf(1000))).rejects.toThrow(BlobConflictError);
  });

  test.each([0, 1])(
    'never seals other bytes than those of the first reading (change in segment %i)',
    async (changed) => {
      const seen: Uint8Array[] = [];
      const storage = new MemoryBlobStorage();
      const spy: BlobsLayer = (driver) => ({
        contract: driver.contract,
        supports: driver.supports,
        storagePaths: () => [],
        put: async (_key, source) => {
          for await (const chunk of source.open()) seen.push(new Uint8Array(chunk));
          return { created: true };
        },
        get: async (key, options) => await driver.get(key, options),
        stat: async (key, options) => await driver.stat(key, options),
        list: (prefix, options) => driver.list(prefix, options),
        delete: async (key, options) => {
          await driver.delete(key, options);
        },
        close: async () => {
          await driver.close();
        },
      });
      const blobs = layerBlobs(memoryBlobs({ storage }), [spy, encryptionLayer({ keys, active: 'one' })]);
      let reads = 0;
      const source = {
        size: 2 * segment,
        open: async function* () {
          reads += 1;
          const bytes = contentOf(2 * segment);
          if (reads > 1) bytes[changed * segment] = (bytes[changed * segment] as number) ^ 1;
          yield await Promise.resolve(bytes);
        },
      };
      await expect(blobs.put('a', source)).rejects.toThrow(BlobSourceError);
      expect(reads).toBe(2);
      // The header, and the segments before the one that changed; never that one.
      expect(seen.map(({ length }) => length)).toEqual([128, ...Array<number>(changed).fill(segment + 16)]);
    },
  );

  test('shows neither content nor its equality under two keys', async () => {
    const { blobs, stored } = open();
    const content = new TextEncoder().encode('a sentence that somebody might look for');
    await blobs.put('a', content);
    await blobs.put('b', content);
    const [a, b] = [await stored.getBytes('a'), await stored.getBytes('b')];
    expect(Buffer.from(a).includes(Buffer.from(content).subarray(0, 8))).toBe(false);
    // Magic, size, key check and key id are alike; identities and segments are not.
    expect(a.subarray(16, 48)).not.toEqual(b.subarray(16, 48));
    expect(a.subarray(128)).not.toEqual(b.subarray(128));
  });
});

describe('keys', () => {
  test('a wrong key and an unknown key are errors of their own', async () => {
    const { blobs, storage } = open();
    await blobs.put('a', contentOf(10));
    for (const [options, kind] of [
      [{ keys: { one: keys.two }, active: 'one' }, 'wrong'],
      [{ keys: { two: keys.two }, active: 'two' }, 'unknown'],
    ] as const) {
      const stranger = open(options, storage).blobs;
      for (const range of [undefined, { start: 1, end: 2 }]) {
        const failure: unknown = await stranger.get('a', { range }).catch((error: unknown) => error);
        expect(BlobKeyError.is(failure) && [failure.key, failure.kind, failure.keyId]).toEqual([
          'a',
          kind,
          'one',
        ]);
      }
    }
  });

  test('of the wrong form are refused without being shown', () => {
    const secret = new Uint8Array(31).fill(65);
    expect(() => encryptionLayer({ keys: { one: secret }, active: 'one' })).toThrow(
      /key one must be 32 random bytes/,
    );
    expect(() => encryptionLayer({ keys, active: 'three' })).toThrow(/active names "three"/);
    expect(() => encryptionLayer({ keys: { 'a b': keys.one }, active: 'a b' })).toThrow(/a key id is/);
    expect(() => encryptionLayer({ keys, active: 'one', nameKey: secret })).toThrow(/nameKey must be 32/);
    expect(() => encryptionLayer({ keys, active: 'one', listWindow: 0 })).toThrow(RangeError);
  });

  test('are copied: the caller may wipe them', async () => {
    const mine = new Uint8Array(32).fill(1);
    const { blobs, storage } = open({ keys: { one: mine } });
    mine.fill(0);
    await blobs.put('a', contentOf(10));
    expect(await open({}, storage).blobs.getBytes('a')).toEqual(contentOf(10));
  });
});

describe('an object that was tampered with', () => {
  const size = 2 * segment + 100;
  const content = contentOf(size);
  const sealedSegment = segment + 16;
  const segmentOf = (position: number) => Math.floor((position - 128) / sealedSegment);

  /** Nothing of a damaged segment may come out: what is received ends, at the latest, where it begins. */
  async function expectDetected(blobs: Blobs, damagedSegment: number): Promise<void> {
    const { received, failure } = await readUntilFailure(blobs, 'a');
    expect(BlobIntegrityError.is(failure) || BlobKeyError.is(failure)).toBe(true);
    expect(received.length).toBeLessThanOrEqual(Math.max(0, damagedSegment) * segment);
    expectBytes(received, content.subarray(0, received.length));
  }

  test('shows every flipped bit of its header, before a byte', async () => {
    const { blobs, stored } = open();
    await blobs.put('a', contentOf(3));
    const sealed = await stored.getBytes('a');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const damaged = new Uint8Array(sealed);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      await plant(stored, 'a', damaged);
      const { received, failure } = await readUntilFailure(blobs, 'a');
      expect([bit, received.length, isBlobsError(failure)]).toEqual([bit, 0, true]);
      const ranged = await readUntilFailure(blobs, 'a', { start: 0, end: 1 });
      expect([bit, ranged.received.length, isBlobsError(ranged.failure)]).toEqual([bit, 0, true]);
    }
  });

  test('shows flipped bits of its segments', async () => {
    const { blobs, stored } = open();
    await blobs.put('a', content);
    const sealed = await stored.getBytes('a');
    const random = seededRandom(7);
    const positions = [128, 128 + segment, 128 + sealedSegment - 1, 128 + sealedSegment, sealed.length - 1];
    for (let i = 0; i < 40; i += 1) positions.push(128 + random.below(sealed.length - 128));
    for (const position of positions) {
      const damaged = new Uint8Array(sealed);
      damaged[position] = (damaged[position] as number) ^ 64;
      await plant(stored, 'a', damaged);
      await expectDetected(blobs, segmentOf(position));
    }
  });

  test('shows every kind of truncation, extension and exchange', async () => {
    const { blobs, stored } = open();
    await blobs.put('a', content);
    await blobs.put('b', content);
    const other = contentOf(size);
    other[size - 1] = (other[size - 1] as number) ^ 1;
    await blobs.put('c', other);
    const [sealed, ofB, ofC] = [
      await stored.getBytes('a'),
      await stored.getBytes('b'),
      await stored.getBytes('c'),
    ];
    const cut = (bytes: Uint8Array, index: number) =>
      bytes.subarray(128 + index * sealedSegment, Math.min(bytes.length, 128 + (index + 1) * sealedSegment));
    const head = sealed.subarray(0, 128);
    const shorter = new Uint8Array(head);
    new DataView(shorter.buffer).setBigUint64(8, BigInt(2 * segment));
    const exchanges: readonly (readonly [string, readonly Uint8Array[], number])[] = [
      ['nothing left', [], 0],
      ['a header only', [head], 0],
      ['half a header', [head.subarray(0, 64)], 0],
      ['the last segment gone', [sealed.subarray(0, 128 + 2 * sealedSegment)], 0],
      [
        'the last segment gone, and the header says so',
        [shorter, sealed.subarray(128, 128 + 2 * sealedSegment)],
        0,
      ],
      ['the last byte gone', [sealed.subarray(0, sealed.length - 1)], 0],
      ['a byte more', [sealed, Uint8Array.of(0)], 0],
      ['a segment twice', [head, cut(sealed, 0), cut(sealed, 0), cut(sealed, 2)], 1],
      ['two segments exchanged', [head, cut(sealed, 1), cut(sealed, 0), cut(sealed, 2)], 0],
      [
        'a segment of an equal object with another name',
        [head, cut(sealed, 0), cut(ofB, 1), cut(sealed, 2)],
        1,
      ],
      ['a segment of another object', [head, cut(sealed, 0), cut(ofC, 1), cut(sealed, 2)], 1],
      ['another object', [ofB], 0],
      ['the header of another object', [ofB.subarray(0, 128), sealed.subarray(128)], 0],
    ];
    for (const [what, parts, damagedSegment] of exchanges) {
      await plant(stored, 'a', Buffer.concat(parts));
      const { received, failure } = await readUntilFailure(blobs, 'a');
      expect([what, BlobIntegrityError.is(failure)]).toEqual([what, true]);
      expect([what, received.length]).toEqual([what, damagedSegment * segment]);
    }
  });

  test('shows it in ranged reads, and only where they read', async () => {
    const { blobs, stored } = open();
    await blobs.put('a', content);
    const sealed = new Uint8Array(await stored.getBytes('a'));
    sealed[128 + sealedSegment + 5] = (sealed[128 + sealedSegment + 5] as number) ^ 1;
    await plant(stored, 'a', sealed);
    expect(await blobs.getBytes('a', { range: { start: 10, end: 20 } })).toEqual(content.subarray(10, 20));
    const { received, failure } = await readUntilFailure(blobs, 'a', {
      start: segment - 3,
      end: segment + 3,
    });
    expect([received.length, BlobIntegrityError.is(failure) && failure.kind]).toEqual([3, 'changed']);
    await expect(blobs.getBytes('a', { range: { start: segment, end: segment + 1 } })).rejects.toThrow(
      BlobIntegrityError,
    );
  });

  test(`random mutants never come out as something else (${mutants()} of them)`, async () => {
    const { blobs, stored } = open();
    const original = contentOf(700);
    await blobs.put('a', original);
    const sealed = await stored.getBytes('a');
    const seed = Number(process.env['HOLDFAST_SEED'] ?? 11);
    const random = seededRandom(seed);
    for (let i = 0; i < mutants(); i += 1) {
      const mutant = mutate(sealed, random);
      await plant(stored, 'a', mutant);
      const { received, failure } = await readUntilFailure(blobs, 'a');
      const same = Buffer.compare(mutant, sealed) === 0;
      const fine = same ? failure === undefined : isBlobsError(failure) && received.length === 0;
      expect([`seed ${seed}, mutant ${i}`, fine]).toEqual([`seed ${seed}, mutant ${i}`, true]);
    }
  });
});

describe('ranged reads', () => {
  test('give every range, and cost one read once the header is known', async () => {
    const content = contentOf(3 * segment + 17);
    const storage = new MemoryBlobStorage();
    const reads: number[] = [];
    const blobs = layerBlobs(memoryBlobs({ storage }), [
      metricsLayer(({ operation }) => operation === 'get' && reads.push(1)),
      encryptionLayer({ keys, active: 'one' }),
    ]);
    await blobs.put('a', content);
    const edges = [
      0,
      1,
      segment - 1,
      segment,
      segment + 1,
      2 * segment,
      3 * segment,
      content.length - 1,
      content.length,
    ];
    let ranges = 0;
    for (const start of edges) {
      for (const end of edges) {
        if (end <= start) continue;
        expectBytes(await blobs.getBytes('a', { range: { start, end } }), content.subarray(start, end));
        ranges += 1;
      }
    }
    expect(reads.length).toBe(ranges + 1);
  });

  test('follow an object that was deleted and put again behind their back', async () => {
    const { blobs, storage } = open();
    const range = { start: 1, end: 3 };
    await blobs.put('a', contentOf(10));
    expect(await blobs.getBytes('a', { range })).toEqual(contentOf(10).subarray(1, 3));
    const other = open({}, storage).blobs;
    for (const replacement of [
      Uint8Array.of(9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
      Uint8Array.of(5, 6, 7),
      contentOf(99),
    ]) {
      await other.delete('a');
      await other.put('a', replacement);
      expect(await blobs.getBytes('a', { range })).toEqual(replacement.subarray(1, 3));
    }
  });
});

describe('hidden names', () => {
  const nameKey = new Uint8Array(32).fill(5);
  const random = seededRandom(3);
  const digests = Array.from({ length: 40 }, () => sha256Hex(random.bytes(8)));
  const names = [
    ...digests.map((digest) => `s/${digest}/w-1`),
    ...digests.map((digest) => `t/${digest.slice(0, 2)}/${digest}`),
    's/plain',
    't.x',
  ];

  test.each([3, 1000])('hold no digest, and list in order through a window of %i', async (listWindow) => {
    const { blobs, stored } = open({ nameKey, listWindow });
    for (const name of names) await blobs.put(name, contentOf(1));
    const hidden = await keysOf(stored.list());
    expect(hidden.length).toBe(names.length);
    for (const digest of digests) expect(hidden.filter((key) => key.includes(digest))).toEqual([]);
    expect(hidden.filter((key) => names.includes(key))).toEqual(['s/plain', 't.x']);
    for (const prefix of [
      '',
      's/',
      't',
      't/',
      't/a',
      `s/${(digests[0] as string).slice(0, 9)}`,
      's/p',
      'u',
    ]) {
      const listed = await keysOf(blobs.list(prefix));
      expect([prefix, listed]).toEqual([prefix, names.filter((name) => name.startsWith(prefix)).sort()]);
    }
    await blobs.delete(names[0] as string);
    await expect(blobs.getBytes(names[0] as string)).rejects.toMatchObject({
      code: 'BLOBS_NOT_FOUND',
      key: names[0],
    });
  });

  test('depend on their key, and are told apart from the names of other lengths', async () => {
    const name = '00'.repeat(32);
    const hidden = await Promise.all(
      [new Uint8Array(32).fill(5), new Uint8Array(32).fill(6)].map(async (key) => {
        const { blobs, stored } = open({ nameKey: key });
        await blobs.put(name, contentOf(1));
        await blobs.put(name.slice(0, 32), contentOf(1));
        return await keysOf(stored.list());
      }),
    );
    const [one = [], two = []] = hidden;
    expect(new Set([...one, ...two]).size).toBe(4);
    expect(one.some((key) => one.some((longer) => longer !== key && longer.startsWith(key)))).toBe(false);
  });
});

async function keysOf(list: AsyncIterable<{ readonly key: string }>): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of list) found.push(key);
  return found;
}

function mutants(): number {
  return Number(process.env['HOLDFAST_ENCRYPTION_MUTANTS'] ?? 2000);
}

function mutate(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const mutant = Buffer.from(bytes);
  const at = random.below(mutant.length);
  switch (random.below(6)) {
    case 0:
      mutant[at] = random.below(256);
      return mutant;
    case 1:
      return mutant.subarray(0, at);
    case 2:
      return Buffer.concat([mutant.subarray(0, at), random.bytes(1 + random.below(20)), mutant.subarray(at)]);
    case 3:
      return Buffer.concat([
        mutant.subarray(0, at),
        mutant.subarray(Math.min(mutant.length, at + 1 + random.below(20))),
      ]);
    case 4: {
      const to = random.below(mutant.length);
      mutant.copyWithin(to, at, at + random.below(64));
      return mutant;
    }
    default:
      return Buffer.from(random.bytes(random.below(2 * mutant.length)));
  }
}
