import {
  Ledger,
  MemoryLedgerDriver,
  MemoryLedgerStorage,
  SessionStore,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { expect, it } from 'vitest';

const id = 'session-0001';

/** A driver that counts what is read through it. */
class CountingDriver extends MemoryLedgerDriver {
  records = 0;
  bytes = 0;

  override async *read(
    ...call: Parameters<MemoryLedgerDriver['read']>
  ): ReturnType<MemoryLedgerDriver['read']> {
    for await (const record of super.read(...call)) {
      this.records += 1;
      this.bytes += record.data.length;
      yield record;
    }
  }
}

it('opening reads the tail, however long the journal is', async () => {
  const storage = new MemoryLedgerStorage();
  const driver = new CountingDriver({ storage });
  const parts = memorySessionParts({ ledgers: sharedSessionLedgers(new Ledger(driver)) });
  const store = await SessionStore.open(parts);
  let journal = await store.create({ id });
  for (const length of [1_000, 6_000, 30_000]) {
    while (journal.tip < length) {
      await Promise.all(
        Array.from({ length: 500 }, (_, index) => journal.append({ type: 'note', body: { index } })),
      );
    }
    await journal.close();
    driver.records = 0;
    driver.bytes = 0;
    journal = await store.open(id);
    // Fewer than 1,024 records behind the last index record, that one, the four before it, and the last record.
    expect(driver.records).toBeLessThan(1_024 + 8);
    // Records of about 330 bytes, index records of about 40 KB.
    expect(driver.bytes).toBeLessThan(1_024 * 400 + 5 * 60_000);
    driver.records = 0;
    await journal.checkpoints();
    expect(driver.records).toBeLessThanOrEqual(Math.ceil(length / 1_024));
  }
  await journal.close();
});

it('and large records bring index records earlier, so that the tail stays small', async () => {
  const storage = new MemoryLedgerStorage();
  const driver = new CountingDriver({ storage });
  const parts = memorySessionParts({ ledgers: sharedSessionLedgers(new Ledger(driver)) });
  const store = await SessionStore.open(parts);
  let journal = await store.create({ id });
  const text = 'x'.repeat(500_000);
  for (let count = 0; count < 60; count += 1) await journal.append({ type: 'note', body: { count, text } });
  await journal.close();
  driver.bytes = 0;
  journal = await store.open(id);
  // 8 MiB behind the last index record, and the record that made it due.
  expect(driver.bytes).toBeLessThan(9 * 1_048_576);
  expect(await journal.verify()).toMatchObject({ events: 60 });
  await journal.close();
});
