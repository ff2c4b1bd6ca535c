import { readdirSync, readFileSync } from 'node:fs';

/** A living process, as Linux shows it. */
interface ProcessRecord {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/**
 * The living processes of one command: everything in its process group, everything that carries its mark in the
 * environment it was started with, and the children of these. A process is missed only when it has left the group, has
 * dropped its environment and has outlived its parent. `undefined` where there is no table to look at.
 */
export function processesOf(group: number, mark: string): number[] | undefined {
  const table = readTable();
  if (table === undefined) return undefined;
  const ours = new Set<number>();
  for (const record of table) {
    if (record.group === group || carries(record.pid, mark)) ours.add(record.pid);
  }
  for (let before = -1; before !== ours.size; ) {
    before = ours.size;
    for (const { pid, parent } of table) if (ours.has(parent)) ours.add(pid);
  }
  return [...ours];
}

function readTable(): ProcessRecord[] | undefined {
  if (process.platform !== 'linux') return undefined;
  const table: ProcessRecord[] = [];
  for (const name of namesIn('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const record = parseStat(readQuietly(`/proc/${name}/stat`).toString('latin1'));
    if (record !== undefined && record.pid !== process.pid) table.push(record);
  }
  return table.length === 0 ? undefined : table;
}

/** The name in parentheses may hold anything, so what matters is counted from its end. */
function parseStat(stat: string): ProcessRecord | undefined {
  const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended; it only waits for its parent to look.
  if (state === undefined || state === 'Z' || state === 'X') return undefined;
  const record = { pid: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group) };
  return Number.isNaN(record.pid) ? undefined : record;
}

function carries(pid: number, mark: string): boolean {
  return readQuietly(`/proc/${pid}/environ`).includes(mark);
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Nothing when the process has ended or is not ours to look at. */
function readQuietly(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}
