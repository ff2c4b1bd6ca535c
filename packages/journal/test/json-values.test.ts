import { isDeepStrictEqual } from 'node:util';

import { EventInvalidError } from '@holdfast/journal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { collect, failureOf, World } from './support/world.js';

const id = 'session-0001';

async function roundTrip(bodies: readonly unknown[]): Promise<unknown[]> {
  const world = new World({ notes: false });
  const store = await world.store();
  const journal = await store.create({ id });
  await Promise.all(bodies.map((body) => journal.append({ type: 'note', body: body as never })));
  await journal.close();
  const view = await store.read(id);
  const read = (await collect(view.events())).map((event) => event.body);
  await view.close();
  return read;
}

describe('any JSON value that can be written can be read back', () => {
  it('for values that drivers and codecs go wrong with', async () => {
    const proto = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}') as unknown;
    const values = [
      null,
      true,
      false,
      0,
      -0,
      1e-7,
      1e21,
      5e-324,
      1.7976931348623157e308,
      Number.MAX_SAFE_INTEGER,
      '',
      '\ud800',
      '\udc00\ud800',
      'a\u0000b\u2028\u2029\ufeff\u007f',
      '\ufeff',
      { a: 1, A: 2, 'a ': 3, '': 4, ä: 5, 'a\u0308': 6 },
      proto,
      { '\ud83d': { '\ude00': 1 } },
      { 10: 'ten', 2: 'two', b: 'b', a: 'a' },
      [[], {}, [[]], [{}]],
      Object.assign(Object.create(null) as object, { bare: true }),
    ];
    const read = await roundTrip(values);
    for (const [index, value] of values.entries()) {
      expect(Object.is(read[index], value) || JSON.stringify(read[index]) === JSON.stringify(value)).toBe(
        true,
      );
    }
    expect(Object.is(read[4], -0)).toBe(true);
    expect(Object.hasOwn(read[16] as object, '__proto__')).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.keys(read[18] as object)).toEqual(['2', '10', 'b', 'a']);
  });

  it('for values nested far deeper than the call stack', async () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 200_000; level += 1) deep = level % 2 === 0 ? [deep] : { d: deep };
    const [read] = await roundTrip([deep]);
    let levels = 0;
    let inner = read;
    while (typeof inner === 'object' && inner !== null) {
      inner = Array.isArray(inner) ? (inner[0] as unknown) : (inner as { d: unknown }).d;
      levels += 1;
    }
    expect([levels, inner]).toEqual([200_000, 'bottom']);
  });

  it('for generated values', async () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const text = fc.array(unit, { maxLength: 6 }).map((units) => units.join(''));
    const key = fc.oneof(
      text,
      fc.constantFrom('__proto__', 'constructor', 'a', 'A', '', 'v', 'body', 'digest'),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constant(null),
        fc.boolean(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        text,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 20 }), async (values) => {
        // Tells -0 from 0 and an own __proto__ from a prototype.
        expect(isDeepStrictEqual(await roundTrip(values), values.map(plain))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});

/** Without `undefined` members and foreign prototypes, but with everything else, signs of zero included. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

describe('what is not JSON is refused with its place', () => {
  it.each([
    [undefined, 'body'],
    [Number.NaN, 'body'],
    [{ a: { b: [1, Number.POSITIVE_INFINITY] } }, 'body.a.b[1]'],
    [{ when: new Date(0) }, 'body.when'],
    [[1n], 'body[0]'],
    [{ f: () => 1 }, 'body.f'],
    [{ s: Symbol('s') }, 'body.s'],
    [[undefined], 'body[0]'],
    [new Array<number>(2), 'body[0]'],
    [new Map(), 'body'],
    [{ bytes: new Uint8Array(2) }, 'body.bytes'],
  ])('%s', async (body, path) => {
    const journal = await (await new World().store()).create({ id });
    const error = (await failureOf(
      journal.append({ type: 'note', body: body as never }),
    )) as EventInvalidError;
    expect(EventInvalidError.is(error)).toBe(true);
    expect([error.rule, error.path]).toEqual(['not-json', path]);
    await journal.close();
  });

  it('a value that contains itself', async () => {
    const journal = await (await new World().store()).create({ id });
    const loop: Record<string, unknown> = { twice: [] };
    const shared = { fine: true };
    await journal.append({ type: 'note', body: { a: shared, b: shared } });
    loop['inner'] = { deep: [loop] };
    const error = (await failureOf(
      journal.append({ type: 'note', body: loop as never }),
    )) as EventInvalidError;
    expect(error.rule).toBe('not-json');
    await journal.close();
  });

  it('members that are undefined are left out, as JSON does', async () => {
    expect(await roundTrip([{ a: undefined, b: 1 }])).toStrictEqual([{ b: 1 }]);
  });
});

describe('ids, times, loops', () => {
  it.each([
    [{ id: '' }, 'id'],
    [{ id: '../x' }, 'id'],
    [{ id: 'x'.repeat(129) }, 'id'],
    [{ id: 7 }, 'id'],
    [{ time: 1.5 }, 'time'],
    [{ time: Number.NaN }, 'time'],
    [{ loop: '' }, 'loop'],
    [{ loop: 3 }, 'loop'],
  ] as const)('%o is refused', async (more, rule) => {
    const journal = await (await new World().store()).create({ id });
    const attempt = journal.append({ type: 'note', body: 1, ...(more as object) });
    expect(await failureOf(attempt)).toMatchObject({ code: 'JOURNAL_EVENT_INVALID', rule });
    await journal.append({ type: 'note', body: 1, id: 'A'.repeat(128), time: -5, loop: 'l' });
    await journal.close();
  });
});
