/**
 * A list that is only appended to and cheap to copy: copies share what they have in common until one of them that is not
 * the longest appends. Of several futures of a journal, usually one comes true.
 */
export class AppendList<T> {
  #items: T[];
  #length: number;

  constructor(items: T[] = [], length: number = items.length) {
    this.#items = items;
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    // Somebody who shares the items went another way.
    if (this.#items.length !== this.#length) this.#items = this.#items.slice(0, this.#length);
    this.#items.push(item);
    this.#length += 1;
  }

  copy(): AppendList<T> {
    return new AppendList(this.#items, this.#length);
  }

  toArray(): T[] {
    return this.#items.slice(0, this.#length);
  }
}
