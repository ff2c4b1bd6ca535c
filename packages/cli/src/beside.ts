/** How many are at work at a time: enough that people wait for one silent owner only, and few enough sockets. */
const most = 64;

/** Runs `work` for every item, many beside each other. Rejects with the first failure, after all have ended. */
export async function beside<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
