import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { run } from '../shared/process.mjs';
import { repositoryRoot } from '../shared/workspace.mjs';

/** @typedef {import('./table.mjs').Campaign} Campaign */

/**
 * @typedef {object} RoundResult
 * @property {boolean} ok
 * @property {Record<string, number>} counts
 * @property {string | undefined} leftOut
 * @property {string} story The end of the output, where the counterexample is.
 * @property {number} seconds
 */

/** How much of the output of a failed round is kept. */
const storyLines = 60;

/**
 * Runs one round of a campaign as a child process of low priority, one worker, with an end.
 * @param {Campaign} campaign
 * @param {{ bounded: boolean, seed: number, limitMs: number, workers?: number, root?: string }} options
 *   `bounded`: the counts of CI instead of those of a long round.
 * @returns {Promise<RoundResult>}
 */
export async function runRound(campaign, { bounded, seed, limitMs, workers = 1, root = repositoryRoot }) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-campaign-'));
  // Servers that give up their privileges work below it.
  chmodSync(scratch, 0o711);
  const countsFile = path.join(scratch, 'counts');
  const [command, ...args] = commandOf(campaign, root, workers);
  const settings = bounded ? campaign.bounded : campaign.round;
  try {
    const result = await run(...lowPriority(command, args), {
      cwd: path.join(root, campaign.directory ?? '.'),
      env: {
        ...process.env,
        NO_COLOR: '1',
        TMPDIR: scratch,
        HOLDFAST_COUNTS: countsFile,
        HOLDFAST_SEED: String(seed),
        ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
      },
      timeoutMs: limitMs,
      group: true,
    });
    const output = stripVTControlCharacters(result.output);
    const reason = /^left out: (.*)$/m.exec(output)?.[1];
    const ending = result.timedOut ? `\nended after ${Math.round(limitMs / 1000)} s without a result` : '';
    return {
      ok: result.code === 0,
      counts: existsSync(countsFile) ? readCounts(readFileSync(countsFile, 'utf8')) : {},
      leftOut: result.code === 0 ? reason : undefined,
      story: output.trimEnd().split('\n').slice(-storyLines).join('\n') + ending,
      seconds: result.durationMs / 1000,
    };
  } finally {
    tidy(scratch);
  }
}

/** What processes of a round that was ended still write into is not worth the rest of a campaign. @param {string} scratch */
function tidy(scratch) {
  try {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    console.log(`left behind: ${scratch}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Sums the lines that `countForCampaign` wrote. A line that was cut off by a kill counts for nothing.
 * @param {string} text
 * @returns {Record<string, number>}
 */
export function readCounts(text) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const line of text.split('\n').slice(0, -1)) {
    /** @type {{ unit: string, count: number }} */
    const { unit, count } = JSON.parse(line);
    counts[unit] = (counts[unit] ?? 0) + count;
  }
  return counts;
}

/**
 * @param {Campaign} campaign
 * @param {string} root
 * @param {number} workers
 * @returns {[string, ...string[]]}
 */
function commandOf(campaign, root, workers) {
  if (campaign.program !== undefined) {
    const [file = '', ...args] = campaign.program;
    return [process.execPath, path.join(root, file), ...args];
  }
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const filter = campaign.test === undefined ? [] : ['-t', campaign.test];
  return [
    process.execPath,
    vitest,
    'run',
    '--reporter=default',
    `--maxWorkers=${workers}`,
    ...(campaign.files ?? []),
    ...filter,
  ];
}

/** @param {string} command @param {readonly string[]} args @returns {[string, string[]]} */
function lowPriority(command, args) {
  return process.platform === 'linux' || process.platform === 'darwin'
    ? ['nice', ['-n', '10', command, ...args]]
    : [command, [...args]];
}
