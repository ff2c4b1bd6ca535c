import { backendFaults, FaultScript, InjectedFault, plainFaults } from '@holdfast/base/testing';
import { describe, expect, it } from 'vitest';

describe('a fault script', () => {
  it.each([
    [{ nth: undefined, times: undefined }, 'x....'],
    [{ nth: 3, times: undefined }, '..x..'],
    [{ nth: 2, times: 2 }, '.xx..'],
    [{ nth: 3, times: 'always' as const }, '..xxx'],
  ])('%o hits %s', (when, wanted) => {
    const script = new FaultScript<'get' | 'put'>([{ operation: 'put', kind: 'io-error', ...when }]);
    const hits = Array.from({ length: 5 }, () => {
      expect(script.next('get')).toBeUndefined();
      return script.next('put') === undefined ? '.' : 'x';
    });
    expect(hits.join('')).toBe(wanted);
    expect(script.fired).toHaveLength(wanted.replaceAll('.', '').length);
  });

  it('lets happen later what was on its way, once, whatever comes of it', async () => {
    const script = new FaultScript([]);
    const seen: number[] = [];
    script.later(() => Promise.reject(new Error('too late')));
    script.later(() => Promise.resolve(seen.push(1)));
    await script.deliver();
    await script.deliver();
    expect(seen).toEqual([1]);
  });
});

describe('the kinds of faults', () => {
  it('are eighteen, each once, with a sentence; a plain failure does not lie', () => {
    expect(new Set(backendFaults.map(({ kind }) => kind)).size).toBe(18);
    for (const { kind, what, lies } of backendFaults) {
      expect(what.length).toBeGreaterThan(10);
      if (plainFaults.has(kind)) expect(lies).toBe(false);
    }
  });

  it('fail like an engine, with what operators look for', () => {
    expect(new InjectedFault('short-write', 'put')).toMatchObject({ code: 'ENOSPC', retryable: false });
    expect(new InjectedFault('throttled', 'put')).toMatchObject({ code: 'EAGAIN', retryable: true });
    expect(new InjectedFault('revoked', 'put').message).toBe('injected into put: revoked');
  });
});
