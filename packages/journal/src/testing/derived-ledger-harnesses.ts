import { Ledger } from '../ledger.js';
import { prefixLedger } from '../prefix-ledger.js';
import { ledgerAsDriver } from './ledger-as-driver.js';
import type { LedgerHarness } from './ledger-harness.js';

/** The same storage through a prefix layer, with foreign neighbours around it: every clause holds there too. */
export function prefixedLedgerHarness(harness: LedgerHarness, prefix: string = 'tenant/one'): LedgerHarness {
  const neighbours = ['tenant', 'tenant/on', prefix, `${prefix}0`, `${prefix}-a`, `${prefix}.a/b`, 'zzz'];
  return derive(harness, {
    adapter: `${harness.adapter}, behind a prefix`,
    maxNameBytes: (harness.limits?.maxNameBytes ?? 512) - prefix.length - 1,
    nameOf: (name) => `${prefix}/${name}`,
    view: async (ledger, fresh) => {
      if (fresh) for (const name of neighbours) await ledger.append(name, 0, [Uint8Array.of(1)]);
      return prefixLedger(ledger, prefix);
    },
  });
}

/** The same storage, written through one view and read through another: every clause holds there too. */
export function secondViewLedgerHarness(harness: LedgerHarness): LedgerHarness {
  const again = async (ledger: Ledger): Promise<Ledger> =>
    await (harness.view?.(ledger) ?? harness.reopen(ledger));
  return derive(harness, {
    adapter: `${harness.adapter}, read through a second view`,
    maxNameBytes: harness.limits?.maxNameBytes ?? 512,
    nameOf: (name) => name,
    view: async (ledger) => {
      const writer = ledgerAsDriver(ledger);
      const reader = ledgerAsDriver(await again(ledger));
      return new Ledger({
        ...reader,
        append: async (...call) => {
          await writer.append(...call);
        },
        delete: async (...call) => {
          await writer.delete(...call);
        },
        close: async () => {
          await Promise.all([reader.close(), writer.close()]);
        },
      });
    },
  });
}

interface Derivation {
  readonly adapter: string;
  readonly maxNameBytes: number;
  nameOf(name: string): string;
  view(ledger: Ledger, fresh: boolean): Promise<Ledger>;
}

function derive(harness: LedgerHarness, derivation: Derivation): LedgerHarness {
  const ledgers = new WeakMap<Ledger, Ledger>();
  const inner = (view: Ledger): Ledger => ledgers.get(view) as Ledger;
  const open = async (ledger: Ledger, fresh: boolean): Promise<Ledger> => {
    const view = await derivation.view(ledger, fresh);
    // Closing a view leaves what is below open; the harness's own ledger must not stay behind.
    const owned = new Ledger({
      ...ledgerAsDriver(view),
      close: async () => {
        await view.close();
        await ledger.close();
      },
    });
    ledgers.set(owned, ledger);
    return owned;
  };
  const { crash, corrupt, loseReply, held, view } = harness;
  return {
    ...harness,
    adapter: derivation.adapter,
    limits: { ...harness.limits, maxNameBytes: derivation.maxNameBytes },
    fresh: async () => await open(await harness.fresh(), true),
    reopen: async (ledger) => await open(await harness.reopen(inner(ledger)), false),
    view: view && (async (ledger) => await open(await view(inner(ledger)), false)),
    crash: crash && (async (ledger) => await open(await crash(inner(ledger)), false)),
    corrupt:
      corrupt &&
      (async (ledger, name, seq) => {
        await corrupt(inner(ledger), derivation.nameOf(name), seq);
      }),
    loseReply:
      loseReply &&
      (async (ledger, outcome) => {
        await loseReply(inner(ledger), outcome);
      }),
    held: held && (async (ledger) => await held(inner(ledger))),
  };
}
