import { yieldToEventLoop } from '@holdfast/base';
import { type SeededRandom, seededRandom } from '@holdfast/base/testing';
import { type Blobs } from '@holdfast/blobs';
import { type BlobsLayer, layerBlobs } from '@holdfast/blobs/layers';

type Driver = Parameters<BlobsLayer>[0];

/**
 * Lets several actors work on one store in an order that a seed decides: every call of every actor waits for its turn,
 * and now and then an actor is left standing for a long time.
 */
export class Interleaving {
  readonly random: SeededRandom;
  readonly #waiting: { readonly actor: string; readonly go: () => void; patience: number }[] = [];
  #running = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** The store as one actor sees it; a mutant may change what it sees or does. */
  view(shared: Blobs, actor: string, mutant?: (driver: Driver) => Driver): Blobs {
    const pausing: BlobsLayer = (driver) => this.#pausing(driver, actor);
    return layerBlobs(shared, mutant === undefined ? [pausing] : [mutant, pausing], { keepOpen: true });
  }

  /** Waits for the actor's turn. */
  async turn(actor: string): Promise<void> {
    const patience = this.random.below(12) === 0 ? this.random.below(150) : 0;
    await new Promise<void>((go) => this.#waiting.push({ actor, go, patience }));
  }

  /** Runs actors to their end. */
  async run(actors: readonly (() => Promise<void>)[]): Promise<void> {
    const failures: unknown[] = [];
    this.#running = actors.length;
    for (const actor of actors) {
      void actor()
        .catch((error: unknown) => failures.push(error))
        .finally(() => {
          this.#running -= 1;
        });
    }
    while (this.#running > 0) {
      await yieldToEventLoop();
      const ready = this.#waiting.filter((entry) => {
        entry.patience -= 1;
        return entry.patience < 0;
      });
      const chosen = ready.length === 0 ? undefined : this.random.pick(ready);
      if (chosen === undefined) continue;
      this.#waiting.splice(this.#waiting.indexOf(chosen), 1);
      chosen.go();
    }
    if (failures.length > 0) throw failures[0];
  }

  #pausing(driver: Driver, actor: string): Driver {
    const pause = async (): Promise<void> => {
      await this.turn(actor);
    };
    return {
      contract: 'blobs/1',
      supports: driver.supports,
      storagePaths: () => driver.storagePaths(),
      put: async (...call) => {
        await pause();
        return await driver.put(...call);
      },
      get: async (...call) => {
        await pause();
        return await driver.get(...call);
      },
      stat: async (...call) => {
        await pause();
        return await driver.stat(...call);
      },
      list: async function* (...call) {
        await pause();
        yield* driver.list(...call);
      },
      delete: async (...call) => {
        await pause();
        await driver.delete(...call);
      },
      close: () => driver.close(),
    };
  }
}
