import { encodePathText } from '@holdfast/base';
import { type SeededRandom, seededRandom } from '@holdfast/base/testing';

import { FileContent } from './file-content.js';
import { ModelFileSystem } from './model-file-system.js';
import { ModelState, rootInode } from './model-state.js';
import { cleanKey, type DirectoryNode, isDirty, type ModelNode, nameFromKey, ownedCopy } from './nodes.js';

export interface CrashStateOptions {
  /** Up to this many binary decisions (2^n states) every combination is visited; default 12. */
  readonly exhaustiveUpTo?: number | undefined;
  /** Combinations drawn when there are more, beside the corner cases; default 128. */
  readonly samples?: number | undefined;
  readonly seed?: number | undefined;
}

/**
 * One thing that a power loss decides: whether a pending name change, a mode or which of several contents survives.
 * Option 0 is always "as seen before the crash".
 */
interface Decision {
  readonly inode: number;
  readonly options: number;
  /** Contents by option, for a file. */
  readonly contents?: readonly Uint8Array[];
  /** Position among the directory's pending changes. */
  readonly change?: number;
}

/** All that a power loss at one moment can leave. */
export class CrashPoint {
  readonly #source: ModelFileSystem;
  readonly #decisions: readonly Decision[];

  constructor(source: ModelFileSystem) {
    this.#source = source;
    this.#decisions = decisionsOf(source.state);
  }

  /** Number of combinations. */
  get combinations(): number {
    return this.#decisions.reduce((product, { options }) => product * options, 1);
  }

  /** Option vectors to visit, the one without any loss first; all of them, or corners and samples. */
  *choices(options: CrashStateOptions = {}): Generator<readonly number[]> {
    if (this.combinations <= 2 ** (options.exhaustiveUpTo ?? 12)) yield* every(this.#decisions);
    else yield* sampled(this.#decisions, options.samples ?? 128, seededRandom(options.seed ?? 1));
  }

  /** The disk after a crash that decided so: everything on it is durable. */
  state(choice: readonly number[]): ModelFileSystem {
    return new ModelFileSystem(
      this.#source.options,
      survivingState(this.#source.state, this.#decisions, choice),
    );
  }

  /** What is lost or damaged by a choice, as text. */
  describe(choice: readonly number[]): string[] {
    const paths = pathsOf(this.#source.state);
    return this.#decisions.flatMap((decision, index) => {
      const option = choice[index] as number;
      return option === 0 ? [] : [describeLoss(this.#source.state, decision, option, paths)];
    });
  }
}

/** Canonical text of a disk without pending changes: equal for equal trees with equal inode numbers. */
export function stateKey(fileSystem: ModelFileSystem): string {
  let key = '';
  for (const node of fileSystem.state.nodes.values()) key += `${cleanKey(node)}\u0001`;
  return key;
}

function decisionsOf(state: ModelState): Decision[] {
  const decisions: Decision[] = [];
  const reachable = possiblyNamed(state);
  for (const node of state.nodes.values()) {
    if (!isDirty(node) || !reachable.has(node.ino)) continue;
    if (node.mode !== node.durableMode) decisions.push({ inode: node.ino, options: 2 });
    if (node.kind === 'directory') {
      node.pending.forEach((_, change) => decisions.push({ inode: node.ino, options: 2, change }));
    } else if (node.kind === 'file' && node.content.dirty) {
      const contents = node.content.variants();
      if (contents.length > 1) decisions.push({ inode: node.ino, options: contents.length, contents });
    }
  }
  return decisions;
}

/** Nodes that some combination could leave with a name. */
function possiblyNamed(state: ModelState): Set<number> {
  const found = new Set([rootInode]);
  for (const inode of found) {
    const node = state.node(inode);
    if (node.kind !== 'directory') continue;
    for (const child of node.durable.values()) found.add(child);
    for (const { names } of node.pending)
      for (const [, child] of names) if (child !== undefined) found.add(child);
  }
  return found;
}

function* every(decisions: readonly Decision[]): Generator<readonly number[]> {
  const choice = decisions.map(() => 0);
  for (;;) {
    yield [...choice];
    let index = 0;
    while (index < choice.length) {
      const next = (choice[index] as number) + 1;
      if (next < (decisions[index] as Decision).options) {
        choice[index] = next;
        break;
      }
      choice[index] = 0;
      index += 1;
    }
    if (index === choice.length) return;
  }
}

/** Nothing lost, all lost, each alone lost, each alone kept; then random ones of three densities. */
function* sampled(
  decisions: readonly Decision[],
  samples: number,
  random: SeededRandom,
): Generator<readonly number[]> {
  const kept = decisions.map(() => 0);
  const lost = decisions.map(({ options }) => options - 1);
  yield kept;
  yield lost;
  for (let index = 0; index < decisions.length; index += 1) {
    yield kept.with(index, lost[index] as number);
    yield lost.with(index, 0);
  }
  for (let drawn = 0; drawn < samples; drawn += 1) {
    const density = [0.1, 0.5, 0.9][drawn % 3] as number;
    yield decisions.map(({ options }) => (random.next() < density ? 1 + random.below(options - 1) : 0));
  }
}

function survivingState(
  before: ModelState,
  decisions: readonly Decision[],
  choice: readonly number[],
): ModelState {
  const after = new ModelState(new Map(), before.nextInode, before.tick + 1);
  const chosen = new Map<number, (readonly [Decision, number])[]>();
  decisions.forEach((decision, index) => {
    const list = chosen.get(decision.inode);
    const pair = [decision, choice[index] as number] as const;
    if (list === undefined) chosen.set(decision.inode, [pair]);
    else list.push(pair);
  });
  const names = new Map<number, number>([[rootInode, 1]]);
  const parents = new Map<number, number>([[rootInode, rootInode]]);
  // Breadth first from the root; what no name leads to is gone, as after a file system check.
  for (const inode of names.keys()) {
    const node = settled(before.node(inode), chosen.get(inode), after);
    after.nodes.set(inode, node);
    if (node.kind !== 'directory') continue;
    for (const child of node.entries.values()) {
      names.set(child, (names.get(child) ?? 0) + 1);
      if (!parents.has(child)) parents.set(child, inode);
    }
  }
  for (const [inode, count] of names) correct(after, inode, count, parents.get(inode) as number);
  return after;
}

/** The node as the crash leaves it; shared when it is clean. */
function settled(
  node: ModelNode,
  chosen: readonly (readonly [Decision, number])[] | undefined,
  after: ModelState,
): ModelNode {
  if (!isDirty(node)) return node;
  const copy = ownedCopy(node, after.owner);
  const lostChanges = new Set<number>();
  let contents: Uint8Array | undefined;
  for (const [decision, option] of chosen ?? []) {
    if (decision.contents !== undefined) contents = decision.contents[option];
    else if (decision.change !== undefined && option === 1) lostChanges.add(decision.change);
    else if (decision.change === undefined && option === 1) copy.mode = copy.durableMode;
  }
  copy.durableMode = copy.mode;
  if (copy.kind === 'directory') {
    const entries = new Map(copy.durable);
    copy.pending.forEach((pending, index) => {
      if (lostChanges.has(index)) return;
      for (const [name, child] of pending.names) {
        if (child === undefined) entries.delete(name);
        else entries.set(name, child);
      }
    });
    copy.entries = entries;
    copy.entriesOwned = false;
    copy.durable = entries;
    copy.pending = [];
  } else if (copy.kind === 'file') {
    copy.content = FileContent.durable(contents ?? copy.content.bytes().slice(), after.owner);
  }
  return copy;
}

function correct(state: ModelState, inode: number, names: number, parent: number): void {
  const node = state.node(inode);
  if (node.nlink !== names) state.own(node).nlink = names;
  if (node.kind === 'directory' && node.parent !== parent) (state.own(node) as DirectoryNode).parent = parent;
}

function pathsOf(state: ModelState): Map<number, string> {
  const paths = new Map<number, string>([[rootInode, '']]);
  for (const [inode, path] of paths) {
    const node = state.node(inode);
    if (node.kind !== 'directory') continue;
    const add = (name: string, child: number): void => {
      if (!paths.has(child)) paths.set(child, `${path}/${encodePathText(nameFromKey(name))}`);
    };
    for (const [name, child] of node.entries) add(name, child);
    for (const [name, child] of node.durable) add(name, child);
    for (const { names } of node.pending)
      for (const [name, child] of names) if (child !== undefined) add(name, child);
  }
  return paths;
}

function describeLoss(
  state: ModelState,
  decision: Decision,
  option: number,
  paths: ReadonlyMap<number, string>,
): string {
  const node = state.node(decision.inode);
  const path = paths.get(node.ino) || '/';
  if (decision.contents !== undefined) {
    const bytes = decision.contents[option] as Uint8Array;
    const size = node.kind === 'file' ? node.content.size : 0;
    return `unsynced bytes of ${path}: ${bytes.length} of ${size} bytes are left, ${preview(bytes)}`;
  }
  if (decision.change === undefined) return `unsynced mode ${node.mode.toString(8)} of ${path}`;
  const change = (node as DirectoryNode).pending[decision.change];
  const names = (change?.names ?? []).map(
    ([name, child]) =>
      `${encodePathText(nameFromKey(name))} → ${child === undefined ? 'nothing' : `#${child}`}`,
  );
  return `unsynced names in ${path}: ${names.join(', ')}`;
}

function preview(bytes: Uint8Array): string {
  const text = encodePathText(bytes.subarray(0, 40));
  return bytes.length > 40 ? `"${text}…"` : `"${text}"`;
}
