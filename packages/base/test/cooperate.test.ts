import { Pacer, yieldToEventLoop } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { describe, expect, it } from 'vitest';

describe('Pacer', () => {
  it('is due when the budget is used up and not again before the next one is', async () => {
    const clock = new ManualClock();
    const pacer = new Pacer({ budget: 10, clock });
    expect(pacer.due).toBe(false);
    await clock.advance(9);
    expect(pacer.due).toBe(false);
    await clock.advance(1);
    expect(pacer.due).toBe(true);
    await pacer.rest();
    expect(pacer.due).toBe(false);
  });

  it('serves timers during a rest', async () => {
    let served = false;
    setImmediate(() => {
      served = true;
    });
    await new Pacer().rest();
    expect(served).toBe(true);
  });

  it('rejects with the reason of an abort that came during the rest', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const resting = new Pacer().rest(controller.signal);
    controller.abort(reason);
    await expect(resting).rejects.toBe(reason);
  });
});

describe('yieldToEventLoop', () => {
  it('resolves after callbacks that were queued before', async () => {
    const order: string[] = [];
    setImmediate(() => order.push('callback'));
    await yieldToEventLoop();
    order.push('after');
    expect(order).toEqual(['callback', 'after']);
  });
});
