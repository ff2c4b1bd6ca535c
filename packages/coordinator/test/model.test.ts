import { type SeededRandom, seededRandom } from '@holdfast/base/testing';
import { Coordinator, type Permit, type PermitRequest, parseCanonicalPath } from '@holdfast/coordinator';
import { expect, it } from 'vitest';

/** A request as the reference model sees it: component lists, `undefined` for a reader, `[]` of `[]` for everything. */
interface Asked {
  readonly id: number;
  readonly request: PermitRequest;
  readonly lifetime: boolean;
  readonly trees: readonly (readonly string[])[];
}

/** The specification, written as slowly and as plainly as possible. */
class ReferenceModel {
  active: Asked[] = [];
  queue: Asked[] = [];
  heldBack: Asked[] = [];
  suspensions = 0;

  arrive(asked: Asked): void {
    if (asked.lifetime && this.suspensions > 0) this.heldBack.push(asked);
    else this.queue.push(asked);
    this.#scan();
  }

  leave(id: number): void {
    const others = (asked: Asked): boolean => asked.id !== id;
    this.active = this.active.filter(others);
    this.queue = this.queue.filter(others);
    this.heldBack = this.heldBack.filter(others);
    this.#scan();
  }

  suspend(): void {
    this.suspensions += 1;
    this.heldBack.push(...this.queue.filter((asked) => asked.lifetime));
    this.queue = this.queue.filter((asked) => !asked.lifetime);
    this.#scan();
  }

  resume(): void {
    this.suspensions -= 1;
    if (this.suspensions > 0) return;
    this.queue.push(...this.heldBack);
    this.heldBack = [];
    this.#scan();
  }

  #scan(): void {
    for (let index = 0; index < this.queue.length; ) {
      const asked = this.queue[index] as Asked;
      const inTheWay = [...this.active, ...this.queue.slice(0, index)];
      if (inTheWay.some((other) => excludes(asked, other))) {
        index += 1;
      } else {
        this.queue.splice(index, 1);
        this.active.push(asked);
      }
    }
  }
}

function excludes(one: Asked, other: Asked): boolean {
  return one.trees.some((a) =>
    other.trees.some((b) => {
      const depth = Math.min(a.length, b.length);
      return a.slice(0, depth).every((component, index) => component === b[index]);
    }),
  );
}

const names = ['a', 'ab', 'b'];

function randomTree(random: SeededRandom): string[] {
  return Array.from({ length: random.below(4) }, () => random.pick(names));
}

const pathOf = (tree: readonly string[]): ReturnType<typeof parseCanonicalPath> =>
  parseCanonicalPath(`/${tree.join('/')}`);

function randomRequest(random: SeededRandom, id: number): Asked {
  const tree = randomTree(random);
  const trees = Array.from({ length: 1 + random.below(3) }, () => randomTree(random));
  const kinds: (() => Asked)[] = [
    () => ({ id, request: { operation: 'checkpoint' }, lifetime: false, trees: [[]] }),
    () => ({ id, request: { operation: 'whole-mutation' }, lifetime: false, trees: [[]] }),
    () => ({ id, request: { operation: 'lifetime', access: 'broad-write' }, lifetime: true, trees: [[]] }),
    () => ({ id, request: { operation: 'lifetime', access: 'read-only' }, lifetime: true, trees: [] }),
    () => ({
      id,
      request: { operation: 'lifetime', access: 'scoped-write', scopes: trees.map(pathOf) },
      lifetime: true,
      trees,
    }),
    () => ({
      id,
      request: { operation: 'path-mutation', path: pathOf(tree) },
      lifetime: false,
      trees: [tree],
    }),
  ];
  // Paths are what a session asks for most; without the weight the queue is nearly always behind a global writer.
  return (random.below(10) < 5 ? (kinds[5] as () => Asked) : random.pick(kinds))();
}

async function settle(): Promise<void> {
  for (let round = 0; round < 6; round += 1) await Promise.resolve();
}

async function runSchedule(seed: number, steps: number): Promise<void> {
  const random = seededRandom(seed);
  const model = new ReferenceModel();
  const coordinator = new Coordinator();
  const permits = new Map<number, Permit>();
  const aborts = new Map<number, AbortController>();
  const suspensions: Disposable[] = [];
  let lastId = 0;
  const start = (): void => {
    lastId += 1;
    const asked = randomRequest(random, lastId);
    const controller = new AbortController();
    aborts.set(asked.id, controller);
    const holder = { note: String(asked.id) };
    coordinator.acquire(asked.request, { signal: controller.signal, holder }).then(
      (permit) => permits.set(asked.id, permit),
      (error: unknown) => {
        if (error !== controller.signal.reason) throw error;
      },
    );
    model.arrive(asked);
  };
  const cancel = (id: number): void => {
    aborts.get(id)?.abort(new Error(`cancelled ${id}`));
    // A delivered permit outlives its signal.
    if (!permits.has(id)) model.leave(id);
  };
  const step = (): void => {
    const draw = random.below(20);
    if (draw < 9) start();
    else if (draw < 14 && permits.size > 0) {
      const id = random.pick([...permits.keys()]);
      permits.get(id)?.release();
      permits.delete(id);
      model.leave(id);
    } else if (draw < 17) cancel(1 + random.below(lastId + 1));
    else if (draw === 17) {
      suspensions.push(coordinator.suspendAdmission());
      model.suspend();
    } else if (draw === 18 && suspensions.length > 0) {
      suspensions.pop()?.[Symbol.dispose]();
      model.resume();
    }
  };
  const compare = (where: string): void => {
    const report = coordinator.inspect();
    const ids = (records: readonly { holder: { note?: string | undefined } }[]): number[] =>
      records.map((record) => Number(record.holder.note));
    const sorted = (list: readonly { id: number }[]): number[] =>
      list.map((asked) => asked.id).sort((a, b) => a - b);
    const seen = {
      active: ids(report.active).sort((a, b) => a - b),
      queued: ids(report.queued),
      delivered: [...permits.keys()].sort((a, b) => a - b),
    };
    const expected = {
      active: sorted(model.active),
      queued: [...model.queue, ...model.heldBack].map((asked) => asked.id),
      delivered: sorted(model.active),
    };
    expect(seen, `seed ${seed}, ${where}`).toEqual(expected);
  };
  for (let count = 0; count < steps; count += 1) {
    // Several steps without letting promises run in between: grants, releases and cancellations race.
    for (let burst = 0; burst <= random.below(3); burst += 1) step();
    await settle();
    compare(`step ${count}`);
  }
  while (suspensions.length > 0) {
    suspensions.pop()?.[Symbol.dispose]();
    model.resume();
  }
  await settle();
  // Everybody is served in the end, and nothing is left behind.
  for (let round = 0; permits.size > 0; round += 1) {
    expect(round, `seed ${seed}: served in bounded rounds`).toBeLessThan(lastId + 1);
    for (const [id, permit] of permits) {
      permit.release();
      permits.delete(id);
      model.leave(id);
    }
    await settle();
    compare(`drain ${round}`);
  }
  expect(coordinator.inspect(), `seed ${seed}`).toEqual({
    closed: false,
    active: [],
    queued: [],
    suspensions: [],
  });
}

it('does what the reference model does, in 2,000 random schedules', async () => {
  for (let seed = 1; seed <= 2000; seed += 1) await runSchedule(seed, 40);
});

it('does it in a few long schedules', async () => {
  for (let seed = 9001; seed <= 9006; seed += 1) await runSchedule(seed, 600);
});
