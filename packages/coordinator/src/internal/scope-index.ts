import { type CanonicalPath, pathComponents } from '../canonical-path.js';
import { ArrivalList, type Link } from './arrival-list.js';

/** Something with a place in the order of arrival. The index keeps the entry's links on the entry. */
export interface Arrival<Entry> {
  readonly arrival: number;
  places: readonly Place<Entry>[];
}

/**
 * Every waiting or granted writer by scope, as a tree of path components.
 *
 * A global writer is one whose scope is the top of the tree, above `/`, so one rule serves all: an entry is *first* when
 * nothing that arrived before it and is still here lies at its scopes, below them or above them. Because conflicts are
 * symmetric and later entries pass only what they do not conflict with, "first" is the same as "conflicts with no active
 * permit and with no request ahead of it".
 *
 * Adding and the test for being first cost the depth of the scopes. A removal reports the entries it may have made
 * first; over its life an entry is reported at most once per directory above it and once per departure of the entry
 * directly before it, so the total stays linear in the number of entries.
 */
export class ScopeIndex<Entry extends Arrival<Entry>> {
  readonly #top: Directory<Entry> = new Directory<Entry>(undefined, '');

  /** Adds an entry that arrived after all others. `scopes` must not be nested in each other. */
  add(entry: Entry, scopes: readonly CanonicalPath[] | 'everything'): void {
    const directories =
      scopes === 'everything' ? [this.#top] : scopes.map((scope) => this.#directoryOf(scope));
    entry.places = directories.map((directory) => placeIn(directory, entry));
  }

  /** Tells whether nothing that arrived earlier conflicts with the entry. True for an entry without scopes. */
  isFirst(entry: Entry): boolean {
    return entry.places.every(({ directory }) => {
      if (directory.all.first?.entry !== entry) return false;
      for (let above = directory.parent; above !== undefined; above = above.parent) {
        const holder = above.own.first?.entry;
        if (holder !== undefined && holder.arrival < entry.arrival) return false;
      }
      return true;
    });
  }

  /** Removes an entry and returns those that may be first now, in order of arrival. */
  remove(entry: Entry): readonly Entry[] {
    const candidates: Entry[] = [];
    for (const place of entry.places) {
      addSuccessors(place, candidates);
      takeOut(place);
    }
    entry.places = [];
    if (candidates.length < 2) return candidates;
    return [...new Set(candidates)].sort((one, other) => one.arrival - other.arrival);
  }

  #directoryOf(scope: CanonicalPath): Directory<Entry> {
    // "/" is one level below the top: a writer scoped to it still differs from a global writer by name, not by effect.
    let directory = this.#top.child('/');
    for (const component of pathComponents(scope)) directory = directory.child(component);
    return directory;
  }
}

class Directory<Entry> {
  readonly parent: Directory<Entry> | undefined;
  readonly #name: string;
  /** Made when it is needed: most directories of a queue are leaves. */
  #children: Map<string, Directory<Entry>> | undefined;
  /** Entries whose scope is exactly this directory. */
  readonly own: ArrivalList<Entry> = new ArrivalList<Entry>();
  /** The same, and entries with a scope anywhere below. */
  readonly all: ArrivalList<Entry> = new ArrivalList<Entry>();

  constructor(parent: Directory<Entry> | undefined, name: string) {
    this.parent = parent;
    this.#name = name;
  }

  child(name: string): Directory<Entry> {
    this.#children ??= new Map<string, Directory<Entry>>();
    let child = this.#children.get(name);
    if (child === undefined) {
      child = new Directory<Entry>(this, name);
      this.#children.set(name, child);
    }
    return child;
  }

  dropWhenEmpty(): void {
    if (this.all.first === undefined && this.parent !== undefined) this.parent.#children?.delete(this.#name);
  }
}

/** One scope of one entry, with its links from the scope's directory up to the top. */
export interface Place<Entry> {
  readonly directory: Directory<Entry>;
  readonly own: Link<Entry>;
  /** Links in the lists of `directory`, its parent, and so on to the top. */
  readonly upwards: readonly Link<Entry>[];
}

function placeIn<Entry>(directory: Directory<Entry>, entry: Entry): Place<Entry> {
  const upwards = [directory.all.add(entry, true)];
  for (let above = directory.parent; above !== undefined; above = above.parent) {
    upwards.push(above.all.add(entry, false));
  }
  return { directory, own: directory.own.add(entry, true), upwards };
}

function addSuccessors<Entry>(place: Place<Entry>, candidates: Entry[]): void {
  // Entries below this directory that waited for this one: those between it and the next one of the same directory.
  // When an earlier entry of the same directory is still here they go on waiting for that one.
  if (place.directory.own.first === place.own) {
    for (let link = place.upwards[0]?.next; link !== undefined && !link.own; link = link.next) {
      candidates.push(link.entry);
    }
  }
  // Entries at this directory or above it that had only this one before them.
  for (const link of place.upwards) {
    if (link.previous === undefined && link.next?.own === true) candidates.push(link.next.entry);
  }
}

function takeOut<Entry>(place: Place<Entry>): void {
  place.directory.own.remove(place.own);
  let directory: Directory<Entry> | undefined = place.directory;
  for (const link of place.upwards) {
    directory?.all.remove(link);
    directory?.dropWhenEmpty();
    directory = directory?.parent;
  }
}
