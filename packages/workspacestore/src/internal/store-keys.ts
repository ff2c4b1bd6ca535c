/** Names of everything the store puts. A layer that caches must pass `writers/`, `gc/` and `moved/` through. */

/** Digits of a slot number in a name, so that names sort like numbers. */
const slotDigits = 10;

/** The last slot number a log can have. */
export const lastSlot: number = 10 ** slotDigits - 1;

export const storeKey = 'store';

export function archiveKey(name: string): string {
  return `archives/${name.slice(0, 2)}/${name}`;
}

export function forwardKey(archive: string): string {
  return `moved/${archive}`;
}

export function slotText(slot: number): string {
  return String(slot).padStart(slotDigits, '0');
}

export function slotKey(writer: string, slot: number): string {
  return `writers/${writer}/${slotText(slot)}`;
}

/** The name of a record's copy under the ref it commits. */
export function recordKey(rootKey: string, hold: string): string {
  return `snapshots/${rootKey}/${hold}`;
}

/** The hold of a commit: writer and slot. A checkpoint event carries it. */
export function holdOf(writer: string, slot: number): string {
  return `${writer}-${slotText(slot)}`;
}

/** Takes a hold apart; `undefined` when the text is none. */
export function parseHold(hold: string): { readonly writer: string; readonly slot: number } | undefined {
  const match = /^([0-9a-f]{32})-([0-9]{10})$/.exec(hold);
  return match === null ? undefined : { writer: match[1] as string, slot: Number(match[2]) };
}

/** Takes the name of a slot apart; `undefined` for any other name. */
export function parseSlotKey(key: string): { readonly writer: string; readonly slot: number } | undefined {
  const match = /^writers\/([0-9a-f]{32})\/([0-9]{10})$/.exec(key);
  return match === null ? undefined : { writer: match[1] as string, slot: Number(match[2]) };
}

/** Takes the name of a record's copy apart; `undefined` for any other name. */
export function parseRecordKey(key: string): { readonly rootKey: string; readonly hold: string } | undefined {
  const match = /^snapshots\/([0-9a-f]{64})\/([0-9a-f]{32}-[0-9]{10})$/.exec(key);
  return match === null ? undefined : { rootKey: match[1] as string, hold: match[2] as string };
}

/** The archive name in the name of an archive or a forward; `undefined` for any other name. */
export function parseArchiveKey(key: string): string | undefined {
  const match = /^(?:archives\/([0-9a-f]{2})|moved)\/([0-9a-f]{64})$/.exec(key);
  if (match === null) return undefined;
  const name = match[2] as string;
  return match[1] === undefined || name.startsWith(match[1]) ? name : undefined;
}

export function collectionKey(collection: string, part: 'condemned' | 'final' | 'decision'): string {
  return `gc/${collection}/${part}`;
}
