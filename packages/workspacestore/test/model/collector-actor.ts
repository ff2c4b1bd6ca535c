import {
  archiveName,
  forwardName,
  isForwarded,
  type Rules,
  reachable,
  recordName,
  releasedHolds,
  type Slot,
  type Survey,
  type World,
} from './protocol-state.js';

/** One run of a collection, in a process that may stop at any step for ever. */
export interface Collector {
  readonly type: 'collector';
  readonly id: string;
  step: string;
  dead: boolean;
  /** Collections and logs that the present step still has to go through. */
  todo: string[];
  survey: { records: string[]; archives: string[]; forwards: Record<string, string> };
  logs: Record<string, (Slot | null)[]>;
  live: string[];
  candidates: string[];
  final: string[];
}

export function newCollector(id: string): Collector {
  return {
    type: 'collector',
    id,
    step: 'begin',
    dead: false,
    todo: [],
    survey: { records: [], archives: [], forwards: {} },
    logs: {},
    live: [],
    candidates: [],
    final: [],
  };
}

/** Takes a collector's next step; `false` when it has none. */
export function stepCollector(world: World, self: Collector, rules: Rules): boolean {
  if (self.dead || self.step === 'end') return false;
  const { broken } = rules;
  const own = (): NonNullable<World['collections'][string]> => (world.collections[self.id] ??= {});
  switch (self.step) {
    case 'begin':
      self.todo = Object.keys(world.collections).filter((id) => {
        const other = world.collections[id];
        return id !== self.id && (other?.condemned !== undefined || other?.final !== undefined);
      });
      self.step = 'leftovers';
      return true;
    case 'leftovers':
      return leftovers(world, self);
    // 1. Mark, and condemn. One look is enough here: what the marks say is looked at again before anything is decided.
    case 'mark': {
      const survey = surveyOf(world);
      const keys = reachable(world, survey, world.logs, liveOf(world), rules);
      self.candidates = namesOf(survey).filter(
        (name) => !keys.has(name) || isForwardedName(survey, world.logs, name, rules),
      );
      self.step = self.candidates.length === 0 ? 'end' : 'condemn';
      return true;
    }
    case 'condemn':
      own().condemned = [...self.candidates];
      self.todo = Object.keys(world.logs);
      self.step = 'retire';
      if (broken.has('collectors read the logs before they retire')) self.logs = copyLogs(world.logs);
      if (broken.has('collectors ask what is live before the logs')) self.live = liveOf(world);
      return true;
    // 2. Retire.
    case 'retire':
      return retire(world, self, rules);
    // 3. Logs, names, then what is live.
    case 'logs':
      if (!broken.has('collectors read the logs before they retire')) self.logs = copyLogs(world.logs);
      self.step = 'survey';
      return true;
    case 'survey':
      self.survey = surveyOf(world);
      self.step = 'live';
      return true;
    case 'live': {
      if (!broken.has('collectors ask what is live before the logs')) self.live = liveOf(world);
      const keys = reachable(world, self.survey, self.logs, self.live, rules);
      self.final = broken.has('what is condemned is not looked at again')
        ? self.candidates
        : self.candidates.filter(
            (name) => !keys.has(name) || isForwardedName(self.survey, self.logs, name, rules),
          );
      self.step = 'final';
      // Not looked at any more; equal states are to look equal.
      Object.assign(self, { candidates: [], live: [], survey: { records: [], archives: [], forwards: {} } });
      return true;
    }
    // 4. The decision is create-only.
    case 'final':
      own().final = [...self.final];
      self.step = 'decide';
      return true;
    case 'decide':
      if (own().decision !== undefined && !broken.has('decisions are put over others')) {
        self.step = 'end';
        return true;
      }
      own().decision = 'go';
      self.todo = ordered(self.final);
      self.final = [];
      self.step = 'delete';
      return true;
    // 5. Records, archives, forwards; then the lists.
    case 'delete':
      return deleteNext(world, self, self.id);
    default:
      trim(world, self.logs, rules);
      self.step = 'end';
      return true;
  }
}

/** Tells whether the next step is seen by nobody else, and sees nothing of others. */
export function isOwnCollectorStep({ step, todo }: Collector): boolean {
  return (step === 'leftovers' || step === 'retire') && todo.length === 0;
}

/** Tells whether the next step may ask journals what is live. */
export function readsJournals({ dead, step }: Collector): boolean {
  return !dead && (step === 'mark' || step === 'condemn' || step === 'live');
}

function copyLogs(logs: World['logs']): World['logs'] {
  return Object.fromEntries(Object.entries(logs).map(([writer, log]) => [writer, [...log]]));
}

function surveyOf(world: World): Collector['survey'] {
  return {
    records: Object.keys(world.records),
    archives: Object.keys(world.archives),
    forwards: { ...world.forwards },
  };
}

function liveOf(world: World): string[] {
  return Object.values(world.journals).flat();
}

function namesOf({ records, archives, forwards }: Survey): string[] {
  return [
    ...records.map(recordName),
    ...archives.map(archiveName),
    ...Object.keys(forwards).map(forwardName),
  ];
}

function isForwardedName(survey: Survey, logs: Collector['logs'], name: string, rules: Rules): boolean {
  return name.startsWith('archive ') && isForwarded(survey, logs, name.slice('archive '.length), rules);
}

function ordered(names: readonly string[]): string[] {
  return ['record ', 'archive ', 'forward '].flatMap((kind) => names.filter((name) => name.startsWith(kind)));
}

/** 0. What other collectors left behind: aborted when nothing was decided, carried out when it was. */
function leftovers(world: World, self: Collector): boolean {
  const id = self.todo[0];
  if (id === undefined) {
    self.step = 'mark';
    return true;
  }
  const other = world.collections[id] as NonNullable<World['collections'][string]>;
  if (other.decision === undefined) {
    other.decision = 'abort';
    return true;
  }
  const rest =
    other.decision === 'go' ? ordered(other.final ?? []).filter((name) => exists(world, name)) : [];
  const next = rest[0];
  if (next !== undefined) {
    remove(world, next);
    return true;
  }
  if (other.final !== undefined) delete other.final;
  else {
    delete other.condemned;
    self.todo.shift();
  }
  return true;
}

function retire(world: World, self: Collector, { broken }: Rules): boolean {
  const writer = self.todo[0];
  if (writer === undefined || broken.has('collectors retire nobody')) {
    self.todo = [];
    self.step = 'logs';
    return true;
  }
  const log = world.logs[writer] as (Slot | null)[];
  const end = log.findLast((slot) => slot !== null)?.kind;
  // A slot that was put meanwhile is met, and the next one is tried: one look and one put are one step here.
  if (end !== undefined && end !== 'retired' && end !== 'closed') log.push({ kind: 'retired' });
  self.todo.shift();
  return true;
}

function deleteNext(world: World, self: Collector, id: string): boolean {
  const name = self.todo.shift();
  const own = world.collections[id] as NonNullable<World['collections'][string]>;
  if (name !== undefined) remove(world, name);
  else if (own.final !== undefined) delete own.final;
  else {
    delete own.condemned;
    self.step = 'trim';
  }
  return true;
}

function exists(world: World, name: string): boolean {
  if (name.startsWith('archive ')) return name.slice(8) in world.archives;
  return name.startsWith('forward ') ? name.slice(8) in world.forwards : name.slice(7) in world.records;
}

function remove(world: World, name: string): void {
  if (name.startsWith('archive ')) delete world.archives[name.slice(8)];
  else if (name.startsWith('forward ')) delete world.forwards[name.slice(8)];
  else delete world.records[name.slice(7)];
}

/** Slots that nobody needs, of the logs as they were read. */
function trim(world: World, logs: Collector['logs'], { broken }: Rules): void {
  const released = releasedHolds(logs);
  const loose = broken.has('held slots are trimmed') || broken.has('retired slots are trimmed');
  const continued = new Set(
    Object.values(logs)
      .flat()
      .map((slot) => (slot?.kind === 'register' ? slot.previous : undefined)),
  );
  for (const [writer, log] of Object.entries(logs)) {
    const end = log.findLast((slot) => slot !== null)?.kind;
    const isLeft = continued.has(writer) || loose;
    if (end !== 'closed' && !(end === 'retired' && isLeft)) continue;
    const held = log.some(
      (slot, number) =>
        (slot?.kind === 'commit' || slot?.kind === 'merge') && !released.has(`${writer}-${number}`),
    );
    const register = log.find((slot) => slot?.kind === 'register');
    const previous = register?.kind === 'register' ? (logs[register.previous ?? ''] ?? []) : [];
    const isLast = previous.every((slot) => slot === null || slot.kind === 'retired');
    if ((held && !broken.has('held slots are trimmed')) || !isLast) continue;
    const there = world.logs[writer] ?? [];
    for (const [number, slot] of log.entries()) {
      if (slot?.kind === 'retired' && !broken.has('retired slots are trimmed')) continue;
      if (slot !== null && number < there.length) there[number] = null;
    }
  }
}
