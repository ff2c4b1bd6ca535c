import { Ledger, type LedgerDriver, MemoryLedgerDriver, MemoryLedgerStorage } from '@holdfast/journal';
import { describe, expect, it } from 'vitest';

import { appendThrough, expectExactlyOnce } from '../engines/appending.mjs';
import { judgeSession } from './verdict.mjs';

/** An append as a writer of an epoch makes it: the fence is that the tip is the one that it saw. */
interface Writer {
  readonly epoch: number;
  tip: number;
}

type Append = LedgerDriver['append'];

/**
 * The history that two holders leave, one of which is stopped, overtaken and woken, over a ledger whose `append` is given:
 * what stands in the journal, and what the writers were told.
 */
async function fight(append: (right: Append, tipOf: (name: string) => Promise<number>) => Append) {
  const storage = new MemoryLedgerStorage();
  const driver = new MemoryLedgerDriver({ storage });
  const wrong = append(
    async (...call) => {
      await driver.append(...call);
    },
    async (name) => await driver.tip(name, {}),
  );
  const acknowledged: { id: string; seq: number; epoch: number }[] = [];
  let refused = 0;
  const write = async (writer: Writer, id: string): Promise<void> => {
    const record = new TextEncoder().encode(JSON.stringify({ id, epoch: writer.epoch }));
    try {
      await wrong('log', writer.tip, [record], {});
    } catch {
      refused += 1;
      return;
    }
    writer.tip += 1;
    acknowledged.push({ id, seq: writer.tip, epoch: writer.epoch });
  };
  const first: Writer = { epoch: 1, tip: 0 };
  for (let at = 1; at <= 3; at += 1) await write(first, `first-${at}`);
  const second: Writer = { epoch: 2, tip: await driver.tip('log', {}) };
  for (let at = 1; at <= 3; at += 1) await write(second, `second-${at}`);
  await write(first, 'first-4');
  await write(second, 'second-4');
  const events: { id: string; seq: number; epoch: number }[] = [];
  const ledger = new Ledger(driver);
  for await (const { seq, data } of ledger.read('log'))
    events.push({ ...(JSON.parse(new TextDecoder().decode(data)) as { id: string; epoch: number }), seq });
  return { problems: judgeSession('session', events, acknowledged), refused };
}

describe('the verdict on take-overs', () => {
  it('finds nothing where the ledger is right, and the stale writer was refused', async () => {
    expect(await fight((right) => right)).toEqual({ problems: [], refused: 1 });
  });

  it('an acknowledged append is lost', async () => {
    let count = 0;
    const { problems } = await fight((right) => async (...call) => {
      count += 1;
      // The last one: what is lost before others is found by whoever appends next.
      if (count < 8) await right(...call);
    });
    expect(problems).toEqual(['session: second-4 was acknowledged at 7 (epoch 2), found nowhere']);
  });

  it('an append is there twice', async () => {
    const { problems } = await fight((right, tipOf) => async (name, tip, records, options) => {
      await right(name, tip, records, options);
      if (tip === 6) await right(name, await tipOf(name), records, options);
    });
    expect(problems).toContain('session: second-4 is there twice');
  });

  it('a stale append is acknowledged', async () => {
    const { problems } = await fight((right, tipOf) => async (name, _tip, records, options) => {
      await right(name, await tipOf(name), records, options);
    });
    expect(problems).toContain('session: epoch 1 after 2 at 7');
    expect(problems).toContain('session: first-4 was acknowledged at 4 (epoch 1), found at 7 (epoch 1)');
  });
});

describe('what the kit makes a ledger hold', () => {
  class Wrong extends MemoryLedgerDriver {
    readonly #mistake: (call: number, append: () => Promise<void>) => Promise<void>;
    #calls = 0;

    constructor(mistake: (call: number, append: () => Promise<void>) => Promise<void>) {
      super();
      this.#mistake = mistake;
    }

    override async append(...[name, _tip, records, options]: Parameters<Append>): Promise<void> {
      this.#calls += 1;
      await this.#mistake(this.#calls, async () => {
        await super.append(name, await this.tip(name, {}), records, options);
      });
    }
  }
  const run = async (mistake: (call: number, append: () => Promise<void>) => Promise<void>) => {
    const ledger = new Ledger(new Wrong(mistake));
    await appendThrough(ledger, 'log', 20, async () => undefined);
    await expectExactlyOnce(ledger, 'log', 20);
  };

  it('is there exactly once where the driver is right', async () => {
    await run(async (_call, append) => {
      await append();
    });
  });

  it.each([
    [
      'an append is lost',
      async (call: number, append: () => Promise<void>) => (call === 20 ? undefined : await append()),
    ],
    [
      'an append is made twice',
      async (call: number, append: () => Promise<void>) => {
        await append();
        if (call === 10) await append();
      },
    ],
  ] as const)('is not where %s', async (_name, mistake) => {
    await expect(run(mistake)).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
  });
});
