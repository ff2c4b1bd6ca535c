import { ManualClock } from '@holdfast/base/testing';
import { type Extension, type LeaseGrant, LeaseLostError, RenewedGrants } from '@holdfast/lease';
import { describe, expect, test } from 'vitest';

const ttl = 3_000;

/** A backend whose answers the test decides, and a grant that is renewed against it. */
class World {
  readonly clock = new ManualClock();
  readonly grants = new RenewedGrants({ ttlMilliseconds: ttl, clock: this.clock });
  /** When each extension was asked for. */
  readonly asked: number[] = [];
  freed = 0;
  answer: () => Promise<Extension> = async () => 'stands';
  free: () => Promise<void> = async () => undefined;

  begin(name = 'a', sentAt = this.clock.monotonic()): LeaseGrant {
    return this.grants.begin({
      name,
      epoch: 7,
      sentAt,
      extend: async () => {
        this.asked.push(this.clock.monotonic());
        return await this.answer();
      },
      free: async () => {
        this.freed += 1;
        await this.free();
      },
    });
  }
}

function lossOf(grant: LeaseGrant): string | undefined {
  const reason: unknown = grant.lost.aborted ? grant.lost.reason : undefined;
  return LeaseLostError.is(reason) ? reason.kind : undefined;
}

/** An answer that comes when the test lets it. */
function held<T>(value: T): { readonly promise: Promise<T>; give(): void } {
  let give = (): void => undefined;
  const promise = new Promise<T>((resolve) => {
    give = () => {
      resolve(value);
    };
  });
  return {
    promise,
    give: () => {
      give();
    },
  };
}

describe('rhythm', () => {
  test('extends every third of the time to live, for as long as it is answered', async () => {
    const world = new World();
    const grant = world.begin();
    await world.clock.advance(10 * ttl);
    expect(world.asked.slice(0, 3)).toEqual([1_000, 2_000, 3_000]);
    expect(world.asked).toHaveLength(30);
    expect(lossOf(grant)).toBeUndefined();
    expect(grant.expiresIn()).toBe(2_000);
  });

  test('asks sooner after a failure, and gives up at two thirds', async () => {
    const world = new World();
    const grant = world.begin();
    world.answer = async () => await Promise.reject(new Error('unreachable'));
    await world.clock.advance(1_999);
    expect(world.asked).toEqual([1_000, 1_250, 1_500, 1_750]);
    expect(lossOf(grant)).toBeUndefined();
    await world.clock.advance(1);
    expect(lossOf(grant)).toBe('self-fenced');
    expect(grant.expiresIn()).toBe(0);
    await world.clock.advance(10 * ttl);
    expect(world.clock.pending).toBe(0);
  });

  test('a backend that never answers does not keep the deadline from being looked at', async () => {
    const world = new World();
    const grant = world.begin();
    world.answer = async () => await new Promise(() => undefined);
    await world.clock.advance(2_000);
    expect(lossOf(grant)).toBe('self-fenced');
    expect(world.asked).toEqual([1_000]);
  });
});

describe('time counts from before the question', () => {
  test('a grant whose answer took two thirds of its time is lost from the beginning', async () => {
    const world = new World();
    await world.clock.advance(5_000);
    expect(lossOf(world.begin('a', 3_001))).toBeUndefined();
    expect(lossOf(world.begin('a', 3_000))).toBe('self-fenced');
  });

  test('an extension counts from its question, not from its answer', async () => {
    const world = new World();
    const grant = world.begin();
    const answer = held<Extension>('stands');
    world.answer = async () => await answer.promise;
    await world.clock.advance(1_900);
    answer.give();
    await world.clock.advance(0);
    // Asked at 1,000, so until 3,000.
    expect(grant.expiresIn()).toBe(1_100);
  });

  test('an answer that comes after its own deadline revives nothing', async () => {
    const world = new World();
    const grant = world.begin();
    const answer = held<Extension>('stands');
    world.answer = async () => await answer.promise;
    const check = grant.check({});
    // The process is stopped: no timer fires, and then everything comes at once.
    world.clock.jumpWall(10_000);
    await world.clock.advance(2_000);
    answer.give();
    expect(await check).toBe(false);
    expect(lossOf(grant)).toBe('self-fenced');
  });

  test('the wall clock does not matter', async () => {
    const world = new World();
    const grant = world.begin();
    for (const jump of [3_600_000, -7_200_000]) {
      world.clock.jumpWall(jump);
      await world.clock.advance(1_500);
      expect(lossOf(grant)).toBeUndefined();
    }
  });
});

describe('check', () => {
  test('asks the backend, whatever the local clock says', async () => {
    const world = new World();
    const grant = world.begin();
    world.answer = async () => 'taken-over';
    expect(await grant.check({})).toBe(false);
    expect(lossOf(grant)).toBe('taken-over');
  });

  test('says so when it cannot know, and the grant goes on', async () => {
    const world = new World();
    const grant = world.begin();
    world.answer = async () => await Promise.reject(new Error('unreachable'));
    await expect(grant.check({})).rejects.toThrow('unreachable');
    expect(lossOf(grant)).toBeUndefined();
    world.answer = async () => 'stands';
    expect(await grant.check({})).toBe(true);
  });

  test('never asks twice at a time, and its answer is to its own question', async () => {
    const world = new World();
    const grant = world.begin();
    const first = held<Extension>('stands');
    world.answer = async () => await first.promise;
    await world.clock.advance(1_000);
    const check = grant.check({});
    await world.clock.advance(0);
    expect(world.asked).toHaveLength(1);
    world.answer = async () => 'expired';
    first.give();
    expect(await check).toBe(false);
    expect(world.asked).toHaveLength(2);
    expect(lossOf(grant)).toBe('expired');
  });

  test('a doubt asks at once, about its name only', async () => {
    const world = new World();
    const grant = world.begin('a');
    const other = world.begin('b');
    world.answer = async () => 'taken-over';
    world.grants.doubt('a');
    await world.clock.advance(0);
    expect([lossOf(grant), lossOf(other)]).toEqual(['taken-over', undefined]);
  });
});

describe('ends', () => {
  test('release frees, stops the timer, and can be repeated after a failure', async () => {
    const world = new World();
    const grant = world.begin();
    world.free = async () => await Promise.reject(new Error('unreachable'));
    await expect(grant.release()).rejects.toThrow('unreachable');
    expect([grant.expiresIn(), world.clock.pending, await grant.check({})]).toEqual([0, 0, false]);
    world.free = async () => undefined;
    await grant.release();
    expect(world.freed).toBe(2);
    expect(lossOf(grant)).toBeUndefined();
  });

  test('what was given up is freed for others, as far as the backend can be reached', async () => {
    const world = new World();
    world.begin();
    world.answer = async () => await new Promise(() => undefined);
    await world.clock.advance(2_000);
    expect(world.freed).toBe(1);
  });

  test('close ends every grant with kind closed, frees all, and reports a failure', async () => {
    const world = new World();
    const grants = [world.begin('a'), world.begin('b')];
    let calls = 0;
    world.free = async () => {
      calls += 1;
      if (calls === 1) await Promise.reject(new Error('unreachable'));
    };
    await expect(world.grants.close()).rejects.toThrow('unreachable');
    expect(grants.map(lossOf)).toEqual(['closed', 'closed']);
    expect([world.freed, world.clock.pending]).toEqual([2, 0]);
    await world.grants.close();
    expect(world.freed).toBe(2);
  });

  test('a time to live that is none is refused', () => {
    for (const ttlMilliseconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new RenewedGrants({ ttlMilliseconds })).toThrow(RangeError);
    }
  });
});
