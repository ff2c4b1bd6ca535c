import { objectsOf, type Rules, recordOf, refOf, resolve, type Slot, type World } from './protocol-state.js';

/** What a writer is to do. A merge takes every archive that it knows. */
export type Task = { readonly snapshot: string } | 'merge' | 'close';

/** One process with a store open. Everything in it is lost when it dies. */
export interface Writer {
  readonly type: 'writer';
  readonly session: string;
  tasks: Task[];
  step: string;
  dead: boolean;
  /** A ref that it opens first, to build on. */
  readonly base: string;
  /** Archives that it knows and would rely on. */
  closure: string[];
  /** Its log; empty: not registered. */
  writer: string;
  previous: string;
  logs: number;
  next: number;
  condemned: string[];
  proved: string[];
  avoid: string[];
  absent: string[];
  /** Archives of the present attempt, and those that are still to be proved. */
  uploaded: string[];
  unproved: string[];
  made: number;
  release: string[];
  hold: string;
  /** A ref that was returned, and whose event is not durable yet. */
  returned: string;
  merged: string[];
}

export function newWriter(
  session: string,
  knows: { readonly closure: readonly string[] } | { readonly base: string },
  tasks: readonly Task[],
): Writer {
  return {
    type: 'writer',
    session,
    tasks: [...tasks],
    step: 'base' in knows ? 'open' : 'begin',
    dead: false,
    base: 'base' in knows ? knows.base : '',
    closure: 'base' in knows ? [] : [...knows.closure],
    writer: '',
    previous: '',
    logs: 0,
    next: 0,
    condemned: [],
    proved: [],
    avoid: [],
    absent: [],
    uploaded: [],
    unproved: [],
    made: 0,
    release: [],
    hold: '',
    returned: '',
    merged: [],
  };
}

/** Takes a writer's next step; `false` when it has none. */
export function stepWriter(world: World, self: Writer, rules: Rules): boolean {
  const task = self.tasks[0];
  if (self.dead || task === undefined) return false;
  const { broken } = rules;
  switch (self.step) {
    case 'open':
      self.closure = openRecord(world, self.base);
      self.step = 'begin';
      return true;
    case 'begin':
      return begin(world, self, task);
    case 'registered': {
      // 2. of a registration: what is condemned is read after the slot is durable.
      self.condemned = broken.has('writers do not look at what is condemned')
        ? []
        : Object.values(world.collections).flatMap(({ condemned }) => condemned ?? []);
      self.proved = [];
      self.step = 'begin';
      return true;
    }
    case 'put':
      put(world, self, task);
      self.step = 'prove';
      return true;
    case 'prove':
      return prove(world, self, task, rules);
    case 'slot':
      return putSlot(world, self, task, rules);
    case 'copy': {
      const { snapshot } = task as { snapshot: string };
      world.records[recordOf(snapshot, self.hold)] = [...self.closure, ...self.uploaded];
      self.closure.push(...self.uploaded);
      self.uploaded = [];
      self.returned = snapshot;
      self.step = broken.has('holds are released before the event') ? 'early' : 'publish';
      return true;
    }
    case 'early': {
      (world.logs[self.writer] as (Slot | null)[])[self.next] = { kind: 'closed', released: [self.hold] };
      self.writer = '';
      self.step = 'publish';
      return true;
    }
    case 'publish': {
      const journal = (world.journals[self.session] ??= []);
      if (!journal.includes(self.returned)) journal.push(self.returned);
      self.release.push(self.hold);
      self.returned = '';
      done(self);
      return true;
    }
    default: {
      // A forward for each archive that was merged; somebody else's stays.
      const name = self.merged.shift() as string;
      if (!(name in world.forwards)) world.forwards[name] = self.uploaded[0] as string;
      if (self.merged.length === 0) {
        self.release.push(self.hold);
        self.closure = [...self.uploaded];
        done(self);
      }
      return true;
    }
  }
}

/** Tells whether the next step is seen by nobody else, and sees nothing of others. */
export function isOwnWriterStep(self: Writer): boolean {
  if (self.step === 'begin') return self.writer !== '' && self.avoid.length === 0;
  if (self.step !== 'prove') return false;
  const name = self.unproved.find((candidate) => !self.proved.includes(candidate));
  // What was condemned is not looked for.
  return name === undefined || self.condemned.includes(`archive ${name}`);
}

/** The archives of a record that is all there; without one a snapshot is larger, not wrong. */
function openRecord(world: World, ref: string): string[] {
  for (const [record, archives] of Object.entries(world.records)) {
    if (refOf(record) !== ref) continue;
    const places = archives.map((name) => resolve(world, name));
    if (!places.includes(undefined)) return [...new Set(places as string[])];
  }
  return [];
}

/** 1. of a registration; then what the task needs first. */
function begin(world: World, self: Writer, task: Task): boolean {
  if (self.writer === '') {
    self.writer = `${self.session}${self.logs}`;
    self.logs += 1;
    const register: Slot = { kind: 'register', released: [...self.release], previous: self.previous };
    world.logs[self.writer] = [register];
    self.release = [];
    self.previous = self.writer;
    self.next = 1;
    self.step = 'registered';
    return true;
  }
  if (task === 'close') {
    self.step = 'slot';
    return true;
  }
  withoutAvoided(world, self);
  if (task === 'merge') {
    if (self.closure.length < 2) {
      done(self);
      return true;
    }
    self.merged = [...self.closure];
    self.step = 'put';
    return true;
  }
  const known = self.closure.map(objectsOf).join('');
  const missing = task.snapshot.split('').some((object) => !known.includes(object));
  self.step = missing ? 'put' : 'prove';
  self.unproved = [...self.closure];
  return true;
}

/** What may not be relied on is left out, or taken from where a forward leads. */
function withoutAvoided(world: World, self: Writer): void {
  const kept = self.closure.filter((name) => !self.avoid.includes(name));
  for (const name of self.closure) {
    if (!self.avoid.includes(name)) continue;
    const target = world.forwards[name];
    if (target === undefined || self.avoid.includes(target) || kept.includes(target)) continue;
    if (target in world.archives) kept.push(target);
  }
  self.closure = kept;
  self.avoid = [];
  self.uploaded = [];
}

function put(world: World, self: Writer, task: Task): void {
  const known = self.closure.map(objectsOf).join('');
  const objects =
    task === 'merge'
      ? [...new Set(known)].sort().join('')
      : (task as { snapshot: string }).snapshot
          .split('')
          .filter((object) => !known.includes(object))
          .join('');
  const name = `${objects}${self.session}${self.made}`;
  self.made += 1;
  world.archives[name] = true;
  self.uploaded = [name];
  self.unproved = [...self.closure, name];
}

/** One archive: not condemned when this writer registered, and there afterwards. */
function prove(world: World, self: Writer, task: Task, { broken }: Rules): boolean {
  const name = self.unproved.shift();
  if (name !== undefined) {
    if (self.proved.includes(name)) return prove(world, self, task, { broken });
    const there = name in world.archives || broken.has('writers believe that every archive is there');
    if (!self.condemned.includes(`archive ${name}`) && there) self.proved.push(name);
    else self.absent.push(name);
    return true;
  }
  const { absent } = self;
  self.absent = [];
  if (absent.length === 0) self.step = 'slot';
  else if (task === 'merge') done(self);
  else {
    self.avoid = absent;
    self.step = 'begin';
  }
  return true;
}

/** The next slot; one that is retired sends the writer back to register and to prove everything again. */
function putSlot(world: World, self: Writer, task: Task, { broken }: Rules): boolean {
  const log = world.logs[self.writer] as (Slot | null)[];
  const found = log[self.next];
  if (found !== undefined && found !== null && !broken.has('writers put over what is retired')) {
    self.writer = '';
    if (broken.has('retired writers do not prove again')) {
      // Registers and goes on with what it had proved before.
      self.writer = `${self.session}${self.logs}`;
      self.logs += 1;
      world.logs[self.writer] = [{ kind: 'register', released: [], previous: self.previous }];
      self.previous = self.writer;
      self.next = 1;
      return true;
    }
    if (task === 'merge') done(self);
    else if (task === 'close') self.tasks = [];
    else {
      self.proved = [];
      self.step = 'begin';
      self.uploaded = [];
    }
    return true;
  }
  const released = self.release;
  self.release = [];
  self.hold = `${self.writer}-${self.next}`;
  if (task === 'close') {
    log[self.next] = { kind: 'closed', released };
    self.writer = '';
    done(self);
    return true;
  }
  log[self.next] =
    task === 'merge'
      ? { kind: 'merge', archive: self.uploaded[0] as string, replaces: [...self.closure], released }
      : {
          kind: 'commit',
          ref: task.snapshot,
          archives: [...self.closure, ...self.uploaded],
          released,
        };
  self.next += 1;
  self.step = task === 'merge' ? 'forwards' : 'copy';
  return true;
}

function done(self: Writer): void {
  self.tasks.shift();
  self.step = 'begin';
  self.hold = '';
}
