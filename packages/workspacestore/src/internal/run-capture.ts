import type { CaptureOptions } from '../capture-options.js';
import { Capture } from './capture.js';
import type { CaptureDestination } from './capture-destination.js';
import type { CaptureResult, CaptureRules, CaptureTotals } from './capture-types.js';
import { drive } from './drive.js';
import { unpackObjects } from './engine/frame-objects.js';
import { captureRemotely, ThreadLostError } from './engine/remote-capture.js';
import { hasMoreEntries } from './entry-count.js';
import type { CheckedRules } from './live-capture.js';
import { mappedInodes } from './mapped-inodes.js';
import { type ScoutParts, shareScouting, stopScouting } from './scout.js';
import { signatureTrust } from './signature-trust.js';
import type { StatTable } from './stat-table.js';
import type { StoreContext } from './store-context.js';
import type { TreeRoot } from './tree-root.js';

/** Entries from which a capture goes to another thread: below, starting and feeding one costs more than it brings. */
const manyEntries = 4000;

/** Entries from which a tree of which nothing is known, so that every file is read, goes to another thread. */
const manyUnknownEntries = 1500;

/** Everything that one capture is about. */
interface Task {
  readonly context: StoreContext;
  readonly root: TreeRoot;
  readonly rules: CaptureRules;
  readonly options: CaptureOptions;
  readonly previous: StatTable | undefined;
  readonly destination: CaptureDestination;
}

/**
 * Captures an open root: in slices of this thread, or in another one when the tree is large. The rows of what was
 * learned are provisional: the caller keeps them when its commit is won.
 */
export async function captureLive(
  context: StoreContext,
  root: TreeRoot,
  checked: CheckedRules,
  options: CaptureOptions,
  previous: StatTable | undefined,
  destination: CaptureDestination,
): Promise<CaptureResult> {
  const trust = signatureTrust(root.path);
  const rules: CaptureRules = {
    ...checked,
    trustSignatures: trust.trusted,
    racyFromNs: BigInt(Math.floor((context.clock.now() - trust.marginMs) * 1000)) * 1000n,
  };
  const task = { context, root, rules, options, previous, destination };
  const result = await captureSomewhere(task);
  return { ...result, settle: () => distrustMapped(result) };
}

async function captureSomewhere(task: Task): Promise<CaptureResult> {
  const { context, root, rules, previous } = task;
  if (!context.engine.available) return await captureHere(task);
  const many =
    previous === undefined
      ? hasMoreEntries(context.fileSystem, root.dir.handle(), rules.ignore, manyUnknownEntries)
      : previous.rows >= manyEntries;
  return many ? await captureElsewhere(task) : await captureHere(task);
}

async function captureElsewhere(task: Task): Promise<CaptureResult> {
  const { context, root, rules, options, previous, destination } = task;
  const scouting = startScout(task);
  try {
    return await captureRemotely(
      context.engine,
      {
        root: root.path,
        ino: root.dir.stat().ino,
        rules: { ...rules, ignore: rules.ignore.rules },
        previous: previous?.toParts(),
        closure: destination.lookupParts(),
        scouted: scouting?.parts,
      },
      {
        signal: options.signal,
        onProgress: (totals) => {
          report(options, totals);
        },
        onFrame: (frame) => destination.receive(frame.group, frame.bytes, unpackObjects(frame.objects)),
      },
    );
  } catch (error) {
    if (!(error instanceof ThreadLostError)) throw error;
    destination.restart();
    return await captureHere(task);
  } finally {
    await scouting?.stop();
  }
}

/** A second look at a tree that was captured before, where a thread is free for it. */
function startScout(task: Task): { readonly parts: ScoutParts; stop(): Promise<void> } | undefined {
  const { context, root, rules, previous } = task;
  if (previous === undefined || !rules.trustSignatures || !context.engine.canScout) return undefined;
  const parts = shareScouting(previous.rows);
  const ino = root.dir.stat().ino;
  const running = context.engine.scout({ root: root.path, ino, previous: previous.toParts(), parts });
  return {
    parts,
    stop: async () => {
      stopScouting(parts);
      await running;
    },
  };
}

async function captureHere(task: Task): Promise<CaptureResult> {
  const { context, root, rules, options, previous, destination } = task;
  const capture = new Capture(context.fileSystem, rules, previous, destination);
  return await drive(capture.run(root.dir.handle()), {
    signal: options.signal,
    wantsRest: () => destination.full,
    onRest: async () => {
      report(options, capture.totals);
      if (destination.full) await destination.relieve();
    },
  });
}

/** Rows that vouch without having been read were looked at when they were. */
async function distrustMapped({ table, totals }: CaptureResult): Promise<void> {
  if (totals.filesRead > 0) table.distrust(await mappedInodes());
}

function report(options: CaptureOptions, totals: CaptureTotals): void {
  options.onProgress?.({ phase: 'scanning', ...totals });
}
