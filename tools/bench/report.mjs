/** Turns measured rows into Markdown tables. */
import { median } from './timed.mjs';

/** @typedef {import('./operations.mjs').Row} Row */
/** @typedef {import('./machine.mjs').Machine} Machine */

/**
 * @typedef {object} Results
 * @property {string} date
 * @property {Machine} machine
 * @property {readonly Row[]} rows
 */

/**
 * The operations in the order of the table, with what we want to reach, as a multiple of git's time or size.
 * @type {readonly { operation: string, unit: 'seconds' | 'MiB', target?: number }[]}
 */
const lines = [
  { operation: 'first snapshot', unit: 'seconds', target: 0.55 },
  { operation: 'unchanged', unit: 'seconds', target: 1.1 },
  { operation: 'ten files changed', unit: 'seconds', target: 1.1 },
  { operation: 'restore to empty', unit: 'seconds', target: 0.75 },
  { operation: 'plan alone', unit: 'seconds', target: 1 },
  { operation: 'rewind in place', unit: 'seconds', target: 1.5 },
  { operation: 'rewind with safety checkpoint', unit: 'seconds' },
  { operation: 'store after the first', unit: 'MiB', target: 0.9 },
  { operation: 'growth by ten checkpoints', unit: 'MiB', target: 1 },
];

const reference = 'git';
const own = 'holdfast';

/**
 * One table per tree: medians, and as a multiple of git's in the same run.
 * @param {readonly Results[]} runs Later ones replace earlier ones, peer by peer and operation by operation.
 */
export function describeRuns(runs) {
  // Of a tree that was only strained there is no table.
  const compared = runs
    .flatMap(({ rows }) => rows)
    .filter((row) => lines.some(({ operation }) => operation === row.operation));
  const trees = unique(compared.map(({ tree }) => tree));
  return trees.map((tree) => `### ${tree}\n\n${describeTree(tree, runs)}\n`).join('\n');
}

/**
 * @param {string} tree
 * @param {readonly Results[]} runs
 */
function describeTree(tree, runs) {
  const peers = unique(
    runs.flatMap(({ rows }) => rows.filter((row) => row.tree === tree).map(({ peer }) => peer)),
  );
  const header = ['operation', ...peers, `${own} : ${reference}`, 'target'];
  const body = lines.flatMap(({ operation, unit, target }) => {
    const cells = peers.map((peer) => cell(runs, tree, operation, peer));
    if (cells.every((found) => found === undefined)) return [];
    const ratio = cells[peers.indexOf(own)]?.ratio;
    return [
      [
        `${operation}, ${unit === 'seconds' ? 's' : unit}`,
        ...cells.map((found) => (found === undefined ? '–' : show(found))),
        ratio === undefined ? '–' : `**${ratio.toFixed(2)}**`,
        target === undefined ? '' : `≤ ${target}`,
      ],
    ];
  });
  return [header, header.map(() => '---'), ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/**
 * @param {readonly Results[]} runs
 * @param {string} tree
 * @param {string} operation
 * @param {string} peer
 */
function cell(runs, tree, operation, peer) {
  for (const { rows } of [...runs].reverse()) {
    const value = valueOf(rows, tree, operation, peer);
    if (value === undefined) continue;
    const base = valueOf(rows, tree, operation, reference);
    return { ...value, ratio: base === undefined ? undefined : value.middle / base.middle };
  }
  return undefined;
}

/**
 * @param {readonly Row[]} rows
 * @param {string} tree
 * @param {string} operation
 * @param {string} peer
 */
function valueOf(rows, tree, operation, peer) {
  const found = rows.filter((row) => row.tree === tree && row.operation === operation && row.peer === peer);
  const values = found.map(({ measure, kib }) =>
    measure === undefined ? (kib ?? Number.NaN) / 1024 : measure.wall,
  );
  if (values.length === 0) return undefined;
  const cpu = found.flatMap(({ measure }) => (measure === undefined ? [] : [measure.cpu]));
  return {
    middle: median(values),
    best: Math.min(...values),
    count: values.length,
    cpu: cpu.length > 0 ? median(cpu) : undefined,
  };
}

/** @param {NonNullable<ReturnType<typeof cell>>} found */
function show({ middle, ratio }) {
  const value = digits(middle);
  return ratio === undefined ? value : `${value} (${ratio.toFixed(2)})`;
}

/** @param {number} value */
function digits(value) {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 1 ? value.toFixed(2) : value.toFixed(value >= 0.1 ? 3 : 4);
}

/**
 * The parts of steps that were measured with parts, medians in milliseconds.
 * @param {readonly Results[]} runs
 */
export function describeShares(runs) {
  /** @type {string[]} */
  const out = [];
  const rows = runs.flatMap((run) => run.rows).filter((row) => row.measure?.shares !== undefined);
  for (const label of unique(rows.map(({ tree, operation }) => `${tree}: ${operation}`))) {
    const measures = rows.flatMap(({ tree, operation, measure }) =>
      `${tree}: ${operation}` === label && measure !== undefined ? [measure] : [],
    );
    const names = unique(measures.flatMap(({ shares }) => Object.keys(shares ?? {})));
    const parts = names.map(
      (name) => `${name} ${(median(measures.map(({ shares }) => shares?.[name] ?? 0)) * 1000).toFixed(1)}`,
    );
    out.push(
      `- ${label}, ms: ${parts.join(', ')}; in all ${(median(measures.map(({ wall }) => wall)) * 1000).toFixed(1)}`,
    );
  }
  return out.join('\n');
}

/**
 * What has no peer: many checkpoints, memory, event-loop delay, aborts.
 * @param {readonly Results[]} runs
 */
export function describeStrain(runs) {
  /** @type {Map<string, string>} */
  const out = new Map();
  for (const { rows } of runs) {
    for (const { tree, operation, facts } of rows) {
      if (facts === undefined) continue;
      const list = Object.entries(facts).map(([name, value]) => `${name} ${digits(value)}`);
      out.set(`${tree}: ${operation}`, list.join(', '));
    }
    for (const label of unique(rows.map(({ tree, operation }) => `${tree}: ${operation}`))) {
      const measures = rows.flatMap(({ tree, operation, measure }) =>
        `${tree}: ${operation}` === label && measure !== undefined ? [measure] : [],
      );
      if (label.endsWith('abort to stopped')) {
        const worst = Math.max(...measures.map(({ wall }) => wall * 1000));
        out.set(label, `worst of ${measures.length}: ${worst.toFixed(1)} ms`);
      }
      if (!label.endsWith(', alone')) continue;
      const peak = Math.max(...measures.map(({ peakMiB = 0 }) => peakMiB));
      const delay = median(measures.map(({ delayP99Ms = 0 }) => delayP99Ms));
      const wall = median(measures.map((measure) => measure.wall));
      const text = `${wall.toFixed(2)} s, peak memory ${peak.toFixed(0)} MiB, event-loop delay p99 ${delay.toFixed(1)} ms`;
      out.set(label, text);
    }
  }
  return [...out].map(([label, text]) => `- ${label}: ${text}`).join('\n');
}

/** @param {Machine} machine */
export function describeMachineLine({ cpu, cores, memoryGiB, system, node, fileSystem }) {
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, ${fileSystem}, Node ${node}`;
}

/**
 * @template T
 * @param {readonly T[]} list
 * @returns {T[]}
 */
function unique(list) {
  return [...new Set(list)];
}
