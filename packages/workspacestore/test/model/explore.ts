import { type Collector, newCollector, stepCollector } from './collector-actor.js';
import { isWhole, type Rules, type World } from './protocol-state.js';
import { newWriter, stepWriter, type Writer } from './writer-actor.js';

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
  /** Whether every state was seen that can be reached. */
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
 */
export function explore(scenario: Scenario, rules: Rules, mostStates: number): Exploration {
  const { world, actors, deaths, forgets } = scenario;
  const first = copy({ world, actors: [...actors], deaths, forgets });
  const seen = new Set([write(first)]);
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
    const next = successors(top.state, scenario, rules);
    if (next.every(({ quiet }) => !quiet)) ends += 1;
    for (const { state, label } of next) {
      const key = write(state);
      if (seen.has(key)) continue;
      seen.add(key);
      stack.push({ state, step: { label, from: step } });
    }
  }
  return { states: seen.size, ends, complete: true, violation: undefined };
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
