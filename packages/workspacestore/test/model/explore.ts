import { hash } from 'node:crypto';

import {
  type Collector,
  isOwnCollectorStep,
  newCollector,
  readsJournals,
  stepCollector,
} from './collector-actor.js';
import { isWhole, type Rules, type World } from './protocol-state.js';
import { isOwnWriterStep, newWriter, stepWriter, type Writer } from './writer-actor.js';

/** Where an exploration begins, and what may happen besides the steps of the actors. */
export interface Scenario {
  readonly world: World;
  readonly actors: readonly (Writer | Collector)[];
  /** By position: moves only once that other actor has ended or died. */
  readonly after?: Readonly<Record<number, number>>;
  /** How many actors may die, each at any step. */
  readonly deaths: number;
  /** How many refs journals may let go, at any moment. */
  readonly forgets: number;
}

export interface Exploration {
  /** Different states that were reached. */
  readonly states: number;
  /** Those in which nothing can move any more. */
  readonly ends: number;
  /** Whether every state was seen that can be reached, but for those that `reduced` leaves out. */
  readonly complete: boolean;
  /** What somebody may need and cannot have, with the steps that led there; `undefined`: never. */
  readonly violation: { readonly lost: string; readonly steps: readonly string[] } | undefined;
}

interface State {
  world: World;
  actors: (Writer | Collector)[];
  deaths: number;
  forgets: number;
}

/** How a state was reached first. */
interface Step {
  readonly label: string;
  readonly from: Step | undefined;
}

/**
 * Goes through every order of steps, deaths and forgetting, until something is lost, every state has been seen, or there
 * are more of them than `mostStates`.
 *
 * `reduced` leaves out orders in which nothing else can be lost:
 *
 * - A step that only its actor sees comes at once: whatever others do, it does the same, and a death before it leaves
 *   the same behind as one after it.
 * - A death is one for those that wait for it only, and comes just before they begin: somebody who is dead is like
 *   somebody who is never given a turn, except that nothing is owed to the dead.
 * - A ref is forgotten just before a collector asks what is live, or a writer names it again: until then only more is owed.
 * - Collectors that are in the same position may be exchanged, since their names mean nothing.
 * - What is over and that nobody looks at again does not tell two states apart.
 */
export function explore(
  scenario: Scenario,
  rules: Rules,
  mostStates: number,
  options: { readonly reduced: boolean } = { reduced: true },
): Exploration {
  const { world, actors, deaths, forgets } = scenario;
  const { reduced } = options;
  const exchangeable = reduced ? exchangeableCollectors(scenario) : undefined;
  const keyOf = (state: State): string => {
    if (reduced) forgetWhatIsOver(state);
    const text = write(state);
    const other = exchangeable === undefined ? text : write(exchanged(state, exchangeable));
    return hash('sha1', other < text ? other : text, 'base64');
  };
  const first = copy({ world, actors: [...actors], deaths, forgets });
  const seen = new Seen();
  seen.add(keyOf(first));
  const stack: { readonly state: State; readonly step: Step }[] = [
    { state: first, step: { label: 'begin', from: undefined } },
  ];
  let ends = 0;
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { step } = top;
    const lost = lostIn(top.state);
    if (lost !== undefined)
      return { states: seen.size, ends, complete: false, violation: { lost, steps: path(step) } };
    if (seen.size > mostStates) return { states: seen.size, ends, complete: false, violation: undefined };
    const next = reduced
      ? reducedSuccessors(top.state, scenario, rules)
      : successors(top.state, scenario, rules);
    if (next.every(({ quiet }) => !quiet)) ends += 1;
    for (const { state, label } of next) {
      if (seen.add(keyOf(state))) stack.push({ state, step: { label, from: step } });
    }
  }
  return { states: seen.size, ends, complete: true, violation: undefined };
}

/** Digests of states; one set of the language holds 16 million. */
class Seen {
  readonly #shards = Array.from({ length: 256 }, () => new Set<string>());
  size = 0;

  add(digest: string): boolean {
    const shard = this.#shards[digest.charCodeAt(0)] as Set<string>;
    if (shard.has(digest)) return false;
    shard.add(digest);
    this.size += 1;
    return true;
  }
}

/** Runs an actor alone to its end. */
export function runAlone(world: World, actor: Collector, rules: Rules): void {
  while (stepCollector(world, actor, rules));
}

function lostIn({ world, actors }: State): string | undefined {
  for (const [session, refs] of Object.entries(world.journals))
    for (const ref of refs) if (!isWhole(world, ref)) return `${ref}, which the journal of ${session} names`;
  for (const actor of actors) {
    if (actor.type === 'writer' && !actor.dead && actor.returned !== '' && !isWhole(world, actor.returned))
      return `${actor.returned}, which a writer of ${actor.session} was given`;
  }
  return undefined;
}

function successors(
  present: State,
  scenario: Scenario,
  rules: Rules,
): { state: State; label: string; quiet: boolean }[] {
  const found: { state: State; label: string; quiet: boolean }[] = [];
  for (const [position, actor] of present.actors.entries()) {
    const before = scenario.after?.[position];
    if (before !== undefined && !hasEnded(present.actors[before])) continue;
    const state = copy(present);
    const self = state.actors[position] as Writer | Collector;
    const moved =
      self.type === 'writer' ? stepWriter(state.world, self, rules) : stepCollector(state.world, self, rules);
    if (!moved) continue;
    if (hasEnded(self)) state.actors[position] = buried(self);
    found.push({ state, label: `${position}: ${actor.step}`, quiet: true });
    if (present.deaths === 0) continue;
    const killed = copy(present);
    killed.actors[position] = buried(actor);
    killed.deaths -= 1;
    found.push({ state: killed, label: `${position}: dies`, quiet: false });
  }
  if (present.forgets === 0) return found;
  for (const [session, refs] of Object.entries(present.world.journals)) {
    for (const ref of refs) {
      const state = copy(present);
      state.world.journals[session] = refs.filter((other) => other !== ref);
      state.forgets -= 1;
      found.push({ state, label: `${session} forgets ${ref}`, quiet: false });
    }
  }
  return found;
}

/** The successors that matter; see `explore`. */
function reducedSuccessors(present: State, scenario: Scenario, rules: Rules): ReturnType<typeof successors> {
  const found: ReturnType<typeof successors> = [];
  const move = (position: number, from: State, label: string): boolean => {
    const state = copy(from);
    const self = state.actors[position] as Writer | Collector;
    const moved =
      self.type === 'writer' ? stepWriter(state.world, self, rules) : stepCollector(state.world, self, rules);
    if (!moved) return false;
    if (hasEnded(self)) state.actors[position] = buried(self);
    found.push({ state, label, quiet: true });
    return true;
  };
  const waitsFor = (position: number): Writer | Collector | undefined => {
    const before = scenario.after?.[position];
    const actor = before === undefined ? undefined : present.actors[before];
    return hasEnded(actor) ? undefined : actor;
  };
  const own = present.actors.findIndex(
    (actor, position) =>
      !hasEnded(actor) &&
      waitsFor(position) === undefined &&
      (actor.type === 'writer' ? isOwnWriterStep(actor) : isOwnCollectorStep(actor)),
  );
  if (own !== -1 && move(own, present, `${own}: ${present.actors[own]?.step}`)) return found;
  for (const [position, actor] of present.actors.entries()) {
    const awaited = waitsFor(position);
    if (awaited === undefined) move(position, present, `${position}: ${actor.step}`);
    else if (present.deaths > 0) {
      const killed = copy(present);
      const victim = present.actors.indexOf(awaited);
      killed.actors[victim] = buried(awaited);
      killed.deaths -= 1;
      move(position, killed, `${victim}: dies, ${position}: ${actor.step}`);
    }
  }
  if (present.forgets === 0) return found;
  const isAsked = present.actors.some((actor) => actor.type === 'collector' && readsJournals(actor));
  for (const [session, refs] of Object.entries(present.world.journals)) {
    for (const ref of refs) {
      const isNamed = present.actors.some(
        (actor) =>
          actor.type === 'writer' && !actor.dead && actor.session === session && actor.returned === ref,
      );
      if (!isAsked && !isNamed) continue;
      const state = copy(present);
      state.world.journals[session] = refs.filter((other) => other !== ref);
      state.forgets -= 1;
      found.push({ state, label: `${session} forgets ${ref}`, quiet: false });
    }
  }
  return found;
}

/** Positions of two collectors that begin alike and wait for nobody. */
function exchangeableCollectors({ actors, after = {} }: Scenario): readonly [number, number] | undefined {
  const alike = [...actors.keys()].filter((position) => actors[position]?.type === 'collector');
  const waiting = Object.entries(after).flat().map(Number);
  return alike.length === 2 && !alike.some((position) => waiting.includes(position))
    ? (alike as [number, number])
    : undefined;
}

/** The same state with the two collectors in each other's place, under each other's name. */
function exchanged(state: State, [one, other]: readonly [number, number]): State {
  const names = [one, other].map((position) => (state.actors[position] as Collector).id) as [string, string];
  const rename = (id: string): string => (id === names[0] ? names[1] : id === names[1] ? names[0] : id);
  const actors = [...state.actors];
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    const collector = state.actors[from] as Collector;
    const isAboutCollections = collector.step === 'leftovers';
    actors[to] = {
      ...collector,
      id: rename(collector.id),
      todo: isAboutCollections ? collector.todo.map(rename) : collector.todo,
    };
  }
  const collections = Object.fromEntries(
    Object.entries(state.world.collections).map(([id, collection]) => [rename(id), collection]),
  );
  return { ...state, actors, world: { ...state.world, collections } };
}

/** Takes away what nobody can look at any more. */
function forgetWhatIsOver({ world, actors }: State): void {
  const collectors = actors.filter((actor) => actor.type === 'collector');
  for (const [id, { condemned, final }] of Object.entries(world.collections)) {
    const isOpen = condemned !== undefined || final !== undefined;
    const isKnown = collectors.some(
      (collector) => !collector.dead && (collector.id === id || collector.todo.includes(id)),
    );
    // A decision is met by its own collector, and by those that found its lists.
    if (!isOpen && !isKnown) delete world.collections[id];
  }
}

/** What is left of an actor that moves no more: nothing that could tell two equal states apart. */
function buried(actor: Writer | Collector): Writer | Collector {
  const body =
    actor.type === 'writer' ? newWriter(actor.session, { closure: [] }, []) : newCollector(actor.id);
  return { ...body, dead: true };
}

function hasEnded(actor: Writer | Collector | undefined): boolean {
  if (actor === undefined || actor.dead) return true;
  return actor.type === 'writer' ? actor.tasks.length === 0 : actor.step === 'end';
}

/** A copy whose parts may be changed; slots and lists of tasks are replaced, never changed. */
function copy({ world, actors, deaths, forgets }: State): State {
  const lists = <T>(map: Readonly<Record<string, readonly T[]>>): Record<string, T[]> => {
    const copied: Record<string, T[]> = {};
    for (const name in map) copied[name] = [...(map[name] as readonly T[])];
    return copied;
  };
  const collections: World['collections'] = {};
  for (const id in world.collections) collections[id] = { ...world.collections[id] };
  return {
    world: {
      archives: { ...world.archives },
      forwards: { ...world.forwards },
      records: { ...world.records },
      logs: lists(world.logs),
      collections,
      journals: lists(world.journals),
    },
    actors: actors.map(copyActor),
    deaths,
    forgets,
  };
}

function copyActor<T extends Writer | Collector>(actor: T): T {
  const copied = { ...actor } as Record<string, unknown>;
  for (const name in copied) if (Array.isArray(copied[name])) copied[name] = [...(copied[name] as unknown[])];
  return copied as unknown as T;
}

/** One text for one state, whatever order things were put in. */
function write({ world, actors, deaths, forgets }: State): string {
  const parts: unknown[] = [actors, deaths, forgets];
  for (const map of Object.values(world) as Readonly<Record<string, unknown>>[]) {
    for (const name of Object.keys(map).sort()) parts.push(name, map[name]);
    parts.push(0);
  }
  return JSON.stringify(parts);
}

function path(end: Step): string[] {
  const steps: string[] = [];
  for (let step: Step | undefined = end; step !== undefined; step = step.from) steps.unshift(step.label);
  return steps;
}
