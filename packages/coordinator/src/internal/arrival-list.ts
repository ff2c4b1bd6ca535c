/** One membership of an entry in a list. */
export interface Link<Entry> {
  readonly entry: Entry;
  /** The entry's scope is the list's own directory, not something below it. */
  readonly own: boolean;
  previous: Link<Entry> | undefined;
  next: Link<Entry> | undefined;
}

/** Entries in order of arrival; adding at the end, removing anywhere and looking at the first cost the same always. */
export class ArrivalList<Entry> {
  first: Link<Entry> | undefined;
  #last: Link<Entry> | undefined;

  add(entry: Entry, own: boolean): Link<Entry> {
    const link: Link<Entry> = { entry, own, previous: this.#last, next: undefined };
    if (this.#last === undefined) this.first = link;
    else this.#last.next = link;
    this.#last = link;
    return link;
  }

  remove(link: Link<Entry>): void {
    if (link.previous === undefined) this.first = link.next;
    else link.previous.next = link.next;
    if (link.next === undefined) this.#last = link.previous;
    else link.next.previous = link.previous;
  }
}
