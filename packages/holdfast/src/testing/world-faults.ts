import type { ManualClock } from '@holdfast/base/testing';
import type { BlobsDriver } from '@holdfast/blobs';
import { type Fault, type FaultOperation, FaultPlan, faultLayer } from '@holdfast/blobs/layers';
import type { LedgerDriver } from '@holdfast/journal';
import { FaultLedgerDriver, type LedgerFault } from '@holdfast/journal/testing';
import type { LeaseLostKind, MemoryLeases } from '@holdfast/lease';
import { rootLeaseName } from '@holdfast/rig';

/** A fault of journals. */
export interface JournalFault extends LedgerFault {
  /** Only appends with an event of this type count; default all. */
  readonly event?: string | undefined;
}

interface ArmedJournalFault {
  readonly fault: JournalFault;
  after: number;
  times: number;
}

/**
 * What goes wrong in a test world. Faults are data and happen in the order in which they were added; what was added and
 * has not happened is in `pending`.
 */
export class WorldFaults {
  readonly #leases: MemoryLeases;
  readonly #clock: ManualClock;
  readonly #blobs = new GrowingPlan();
  #journal: ArmedJournalFault[] = [];

  /** @internal */
  constructor(leases: MemoryLeases, clock: ManualClock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /**
   * Lets calls of the journals of all sessions fail. An append of kind `landed` or `not-landed` loses its reply: the
   * caller is not told whether it took effect.
   */
  journal(fault: JournalFault): void {
    this.#journal.push({ fault, after: fault.after ?? 0, times: fault.times ?? 1 });
  }

  /**
   * Lets calls of the blob store fail, late or lie. Those that wait do so on the world's clock.
   * @throws TypeError when the kind makes no sense for the operation.
   */
  blobs(fault: Fault): void {
    this.#blobs.add(fault);
  }

  /**
   * Ends the lease of a session as the network would; with `silently` its holder finds out only when it asks. `false`
   * when nobody has it.
   */
  loseSession(id: string, options: LoseOptions = {}): boolean {
    return this.#leases.expire(`sessions/${id}`, options);
  }

  /** Ends the lease of an exclusive root. `false` when nobody has it. */
  loseRoot(root: string, options: LoseOptions = {}): boolean {
    return this.#leases.expire(rootLeaseName(root), options);
  }

  /** How many faults have not happened yet: a test that ends with some has not tested what it says. */
  get pending(): number {
    return this.#journal.length + this.#blobs.pending;
  }

  /** @internal */
  aroundLedger(driver: LedgerDriver): LedgerDriver {
    const faulty = new FaultLedgerDriver(driver);
    return new Proxy(faulty, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        const operation = String(name);
        return (...given: readonly unknown[]): unknown => {
          const records = operation === 'append' ? (given[2] as readonly Uint8Array[]) : [];
          const fault = this.#takeJournal(operation, records);
          if (fault !== undefined) target.arm({ ...fault, after: 0, times: 1 });
          return Reflect.apply(member as (...list: readonly unknown[]) => unknown, target, given);
        };
      },
    });
  }

  /** @internal */
  aroundBlobs(driver: BlobsDriver): BlobsDriver {
    return faultLayer(this.#blobs, { clock: this.#clock })(driver);
  }

  #takeJournal(operation: string, records: readonly Uint8Array[]): JournalFault | undefined {
    const armed = this.#journal.find(
      ({ fault }) =>
        fault.operation === operation &&
        (fault.event === undefined || records.some((record) => holdsEvent(record, fault.event as string))),
    );
    if (armed === undefined) return undefined;
    if (armed.after > 0) {
      armed.after -= 1;
      return undefined;
    }
    armed.times -= 1;
    if (armed.times === 0) this.#journal = this.#journal.filter((other) => other !== armed);
    return armed.fault;
  }
}

/** How a lease is lost. */
export interface LoseOptions {
  readonly kind?: LeaseLostKind;
  readonly silently?: boolean;
}

/** A plan to which faults can be added while it is in use. */
class GrowingPlan extends FaultPlan {
  readonly #plans: { readonly plan: FaultPlan; readonly times: number }[] = [];

  constructor() {
    super([]);
  }

  get pending(): number {
    return this.#plans.filter(({ plan, times }) => plan.fired.length < times).length;
  }

  add(fault: Fault): void {
    // What never ends is no longer pending once it has happened.
    const times = fault.times === 'always' ? 1 : (fault.times ?? 1);
    this.#plans.push({ plan: new FaultPlan([fault]), times });
  }

  override next(operation: FaultOperation, key: string): Fault | undefined {
    let hit: Fault | undefined;
    for (const { plan } of this.#plans) hit ??= plan.next(operation, key);
    return hit;
  }
}

const decoder = new TextDecoder();

/** Records are JSON with their type in the clear; see the format of session records. */
function holdsEvent(record: Uint8Array, type: string): boolean {
  return decoder.decode(record).includes(`"type":${JSON.stringify(type)}`);
}
