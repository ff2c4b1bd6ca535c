/**
 * The collection protocol as a state machine: what is in the store, what journals name, and how far every actor is. One
 * step of an actor is one call of the store, or one thing that only it sees. Names stand for bytes: an archive is named
 * after the letters of the objects in it, a ref after those that it needs.
 */

export type Slot =
  | { readonly kind: 'register'; readonly released: readonly string[]; readonly previous?: string }
  | {
      readonly kind: 'commit';
      readonly ref: string;
      readonly archives: readonly string[];
      readonly released: readonly string[];
    }
  | {
      readonly kind: 'merge';
      readonly archive: string;
      readonly replaces: readonly string[];
      readonly released: readonly string[];
    }
  | { readonly kind: 'closed'; readonly released: readonly string[] }
  | { readonly kind: 'retired' };

export interface Collection {
  condemned?: string[];
  final?: string[];
  decision?: 'go' | 'abort';
}

/** What everybody sees: the blob store, and the journals beside it. */
export interface World {
  /** Archives that are there. */
  archives: Record<string, true>;
  forwards: Record<string, string>;
  /** `ref@hold`: archives. */
  records: Record<string, string[]>;
  /** Logs by writer; a slot that was trimmed is `null`. */
  logs: Record<string, (Slot | null)[]>;
  collections: Record<string, Collection>;
  /** Refs that events name, by session. */
  journals: Record<string, string[]>;
}

/** The objects in an archive, also of one that is gone: its name begins with them. */
export const objectsOf = (name: string): string => /^[x-z]*/.exec(name)?.[0] ?? '';

export const recordOf = (ref: string, hold: string): string => `${ref}@${hold}`;
export const refOf = (record: string): string => record.slice(0, record.indexOf('@'));
export const archiveName = (name: string): string => `archive ${name}`;
export const forwardName = (name: string): string => `forward ${name}`;
export const recordName = (name: string): string => `record ${name}`;

/** Where an archive's objects are: itself, or the end of its forwards; `undefined` when that is nowhere. */
export function resolve(world: World, name: string): string | undefined {
  let current: string | undefined = name;
  for (let hop = 0; current !== undefined && hop <= 8; hop += 1) {
    if (current in world.archives) return current;
    current = world.forwards[current];
  }
  return undefined;
}

/** Tells whether somebody could restore a ref: one record whose archives are all somewhere and have every object. */
export function isWhole(world: World, ref: string): boolean {
  return Object.entries(world.records).some(([record, archives]) => {
    if (refOf(record) !== ref) return false;
    const places = archives.map((name) => resolve(world, name));
    if (places.includes(undefined)) return false;
    const objects = places.map((place) => objectsOf(place as string)).join('');
    return ref.split('').every((object) => objects.includes(object));
  });
}

/** What a collector reads of the names in the store, and where the forwards lead. */
export interface Survey {
  readonly records: readonly string[];
  readonly archives: readonly string[];
  readonly forwards: Readonly<Record<string, string>>;
}

export type Logs = Readonly<Record<string, readonly (Slot | null)[]>>;

export interface Rules {
  /** Ways to break the protocol that are switched on. */
  readonly broken: ReadonlySet<string>;
}

/** Holds that some slot calls released. */
export function releasedHolds(logs: Logs): Set<string> {
  const released = new Set<string>();
  for (const log of Object.values(logs))
    for (const slot of log)
      if (slot !== null && slot.kind !== 'retired') for (const hold of slot.released) released.add(hold);
  return released;
}

/** Names that must stay, as `findReachable` of the store decides it. */
export function reachable(
  world: World,
  survey: Survey,
  logs: Logs,
  live: readonly string[],
  { broken }: Rules,
): Set<string> {
  const keys = new Set<string>();
  const reach = (name: string): void => {
    for (let current = name; !keys.has(archiveName(current)); ) {
      keys.add(archiveName(current));
      const next = survey.forwards[current];
      if (next === undefined || broken.has('forwards lead nowhere')) return;
      keys.add(forwardName(current));
      current = next;
    }
  };
  for (const record of survey.records) {
    if (!live.includes(refOf(record))) continue;
    keys.add(recordName(record));
    for (const archive of world.records[record] ?? []) reach(archive);
  }
  const released = releasedHolds(logs);
  for (const [writer, log] of Object.entries(logs)) {
    for (const [number, slot] of log.entries()) {
      const hold = `${writer}-${number}`;
      if (slot === null || released.has(hold)) continue;
      if (slot.kind === 'commit' && !broken.has('commits are not held')) {
        keys.add(recordName(recordOf(slot.ref, hold)));
        for (const archive of slot.archives) reach(archive);
      }
      if (slot.kind === 'merge' && !broken.has('merges are not held')) reach(slot.archive);
    }
  }
  return keys;
}

/** Tells whether an archive may go because its forward leads to one that is there. */
export function isForwarded(survey: Survey, logs: Logs, name: string, { broken }: Rules): boolean {
  if (broken.has('a merge slot counts as its forwards')) {
    const merged = Object.values(logs)
      .flat()
      .some((slot) => slot?.kind === 'merge' && slot.replaces.includes(name));
    if (merged) return true;
  }
  let target = survey.forwards[name];
  if (target === undefined) return false;
  if (broken.has('forwards are not followed to their end')) return true;
  const seen = new Set([name]);
  for (let next = survey.forwards[target]; next !== undefined; next = survey.forwards[target]) {
    if (seen.has(target)) return false;
    seen.add(target);
    target = next;
  }
  return target !== name && survey.archives.includes(target);
}
