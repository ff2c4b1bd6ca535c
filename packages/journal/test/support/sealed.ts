import { createHash } from 'node:crypto';

type Members = Record<string, unknown>;

/** Rewrites the stored record at `seq` and seals it and everything after it again, as another writer would have. */
export function sealed(records: Uint8Array[], seq: number, change: (record: Members) => object): void {
  let previous = '';
  for (let index = seq - 1; index < records.length; index += 1) {
    const text = new TextDecoder().decode((records[index] as Uint8Array).subarray(65));
    const members = JSON.parse(text) as Members;
    if (index > seq - 1) members['previous'] = previous;
    const content = JSON.stringify(index === seq - 1 ? change(members) : members);
    previous = createHash('sha256').update(content).digest('hex');
    records[index] = new TextEncoder().encode(`${previous}\n${content}`);
  }
}
