import { seedStep } from './schedule.mjs';

/** @typedef {import('./table.mjs').Campaign} Campaign */
/** @typedef {import('./state.mjs').State} State */
/** @typedef {import('./machine.mjs').Machine} Machine */

/** @param {number} count */
const grouped = (count) => count.toLocaleString('en-US');

/** @param {number} seconds */
function duration(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${Math.round(seconds)} s` : `${minutes} min ${Math.round(seconds % 60)} s`;
}

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/**
 * Writes down what a campaign did, in Markdown, so that it can be judged without running it.
 * @param {{ campaigns: readonly Campaign[], state: State, machine: Machine, ended: string, options: string }} facts
 * @returns {string}
 */
export function writeReport({ campaigns, state, machine, ended, options }) {
  const rows = campaigns.map((campaign) => ({ campaign, progress: state.campaigns[campaign.name] }));
  const ran = rows.filter(({ progress }) => progress !== undefined && progress.rounds > 0);
  const violations = ran.flatMap(({ campaign, progress }) =>
    (progress?.violations ?? []).map((violation) => ({ campaign, violation })),
  );
  const unfinished = violations.filter(({ violation }) =>
    violation.story.endsWith('without a result'),
  ).length;
  const found =
    violations.length === 0
      ? 'No violation'
      : `**${violations.length} violation(s)**, ${unfinished} of them rounds that did not end in their time,`;
  const lines = [
    `# Campaign of ${ended.slice(0, 10)}`,
    '',
    `${found} in ${ran.length} campaigns, ` +
      `${duration(state.seconds)} of running. Started ${state.started}, ended ${ended}.`,
    '',
    '| | |',
    '|---|---|',
    `| command | \`npm run campaign${options === '' ? '' : ` -- ${options}`}\` |`,
    `| commit | ${machine.commit} |`,
    `| Node | ${machine.node} |`,
    `| system | ${machine.system} |`,
    `| processor | ${cell(machine.processor)}, ${machine.processors} visible |`,
    `| memory | ${machine.memory} |`,
    `| temporary directories | ${machine.fileSystem} |`,
    '',
    '## What was run',
    '',
    '| campaign | what a violation would break | done | long goal | seeds | rounds | time | violations |',
    '|---|---|---|---|---|---|---|---|',
  ];
  for (const { campaign, progress } of ran) {
    if (progress === undefined) continue;
    const done = Object.entries(progress.counts).map(([unit, count]) => `${grouped(count)} ${unit}`);
    // Without a unit a round does everything, unless it did not end.
    if (done.length === 0)
      done.push(
        campaign.goal === undefined && progress.violations.length === 0 ? 'all of it' : 'nothing counted',
      );
    const goal =
      campaign.goal === undefined ? 'one round' : `${grouped(campaign.goal.count)} ${campaign.goal.unit}`;
    const last = progress.firstSeed + (progress.rounds - 1) * seedStep;
    const seeds =
      progress.rounds === 1 ? `${progress.firstSeed}` : `${progress.firstSeed}–${last} by ${seedStep}`;
    lines.push(
      `| ${campaign.name} | ${cell(campaign.proves)} | ${done.join('; ')} | ${goal} | ` +
        `${seeds} | ${progress.rounds} | ${duration(progress.seconds)} | ${progress.violations.length} |`,
    );
  }
  lines.push('', '## Left out', '');
  const missing = rows.filter(({ progress }) => progress === undefined || progress.rounds === 0);
  for (const { campaign, progress } of missing)
    lines.push(`- ${campaign.name}: ${progress?.leftOut ?? 'its turn did not come in the time of this run'}`);
  for (const { campaign, progress } of ran) {
    if (progress?.leftOut !== undefined) lines.push(`- ${campaign.name}: ${progress.leftOut}`);
    const { goal } = campaign;
    const count = goal === undefined ? 0 : (progress?.counts[goal.unit] ?? 0);
    if (goal !== undefined && count < goal.count)
      lines.push(
        `- ${campaign.name}: ${grouped(goal.count - count)} of ${grouped(goal.count)} ${goal.unit}, for want of time`,
      );
  }
  if (lines.at(-1) === '') lines.push('Nothing.');
  if (violations.length > 0) {
    lines.push('', '## Violations');
    for (const { campaign, violation } of violations) {
      lines.push('', `### ${campaign.name}, round ${violation.round}, seed ${violation.seed}`, '', '```text');
      lines.push(violation.story.replaceAll('```', "'''"), '```');
    }
  }
  lines.push('', '## Mistakes that these harnesses are known to find', '');
  lines.push('Made on purpose by a test, which fails when the harness does not notice:', '');
  for (const { campaign } of ran)
    for (const { mistake, test } of campaign.planted)
      lines.push(`- ${campaign.name}: ${mistake} (\`${test}\`)`);
  return `${lines.join('\n')}\n`;
}
