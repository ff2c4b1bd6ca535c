import { DisposalStack } from '@holdfast/base';
import { describe, expect, test } from 'vitest';

describe('DisposalStack', () => {
  test('releases last first and waits for each', async () => {
    const order: string[] = [];
    const stack = new DisposalStack();
    stack.defer(() => order.push('a'));
    stack.defer(async () => {
      await Promise.resolve();
      order.push('b');
    });
    stack.use({ [Symbol.dispose]: () => order.push('c') });
    stack.use({
      [Symbol.asyncDispose]: async () => {
        await Promise.resolve();
        order.push('d');
      },
    });
    await stack.close();
    expect(order).toEqual(['d', 'c', 'b', 'a']);
  });

  test('prefers the asynchronous disposal of a resource that has both', async () => {
    const order: string[] = [];
    const stack = new DisposalStack();
    stack.use({
      [Symbol.dispose]: () => order.push('sync'),
      [Symbol.asyncDispose]: async () => {
        order.push('async');
      },
    });
    await stack.close();
    expect(order).toEqual(['async']);
  });

  test('returns what it is given and accepts undefined', async () => {
    const resource = { [Symbol.dispose]: () => undefined };
    const stack = new DisposalStack();
    expect(stack.use(resource)).toBe(resource);
    expect(stack.use(undefined)).toBeUndefined();
    await stack.close();
  });

  test('goes on after a failure and rethrows a single one as it is', async () => {
    const order: string[] = [];
    const failure = new Error('middle');
    const stack = new DisposalStack();
    stack.defer(() => order.push('first'));
    stack.defer(() => {
      throw failure;
    });
    stack.defer(() => order.push('last'));
    await expect(stack.close()).rejects.toBe(failure);
    expect(order).toEqual(['last', 'first']);
  });

  test('collects several failures in order of occurrence', async () => {
    const stack = new DisposalStack();
    stack.defer(async () => Promise.reject(new Error('one')));
    stack.defer(() => {
      throw new Error('two');
    });
    const error: unknown = await stack.close().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors.map((member: Error) => member.message)).toEqual(['two', 'one']);
  });

  test('closes once: concurrent and later calls share the result', async () => {
    let releases = 0;
    const stack = new DisposalStack();
    stack.defer(async () => {
      releases += 1;
      await Promise.resolve();
      throw new Error('once');
    });
    const results = await Promise.allSettled([stack.close(), stack.close(), stack[Symbol.asyncDispose]()]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(stack.close()).rejects.toThrow('once');
    expect(releases).toBe(1);
  });

  test('refuses additions after the close began', async () => {
    const stack = new DisposalStack();
    const closing = stack.close();
    expect(() => {
      stack.defer(() => undefined);
    }).toThrow(TypeError);
    expect(() => stack.use({ [Symbol.dispose]: () => undefined })).toThrow(/already closed/);
    await closing;
  });

  test('moves its steps to another stack', async () => {
    const order: string[] = [];
    const stack = new DisposalStack();
    stack.defer(() => order.push('kept'));
    const moved = stack.move();
    await stack.close();
    expect(order).toEqual([]);
    await moved.close();
    expect(order).toEqual(['kept']);
  });

  test('works with await using', async () => {
    const order: string[] = [];
    {
      await using stack = new DisposalStack();
      stack.defer(() => order.push('released'));
      order.push('body');
    }
    expect(order).toEqual(['body', 'released']);
  });
});
