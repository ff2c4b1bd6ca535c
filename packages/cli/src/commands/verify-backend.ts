import type { ContractReport, RunOptions } from '@holdfast/base/testing';

import { type BackendKind, loadBackendModule, type OfferedHarness } from '../backend-module.js';
import type { Command } from '../command.js';
import { exitStatus } from '../command.js';
import { printable } from '../text.js';

export const verifyBackendCommand: Command = {
  spec: {
    name: 'verify-backend',
    summary: "run the contract suites against somebody's driver",
    arguments: [
      {
        name: 'MODULE',
        help: 'path or package that exports a harness as `blobs`, `ledger` or `leaser`',
      },
    ],
    options: [],
    example: 'holdfast verify-backend ./my-bucket-harness.mjs',
  },
  run: async (context) => {
    const name = context.arguments.positionals[0] as string;
    const offered = await loadBackendModule(name, context.io.cwd);
    const reports: ContractReport[] = [];
    for (const [kind, value] of offered) {
      context.progress.update({ phase: `verifying ${kind}` });
      reports.push(await verify(kind, value, { signal: context.io.signal }));
    }
    const ok = reports.every((report) => report.ok);
    await context.result({ ok, reports: reports.map(reportJson) }, () => reports.map(reportText).join(''));
    return ok ? exitStatus.done : exitStatus.failed;
  },
};

/** The suites are loaded only here: no other command pays for them. */
async function verify(
  kind: BackendKind,
  offered: OfferedHarness,
  options: RunOptions,
): Promise<ContractReport> {
  const harness = (typeof offered === 'function' ? await offered() : offered) as never;
  switch (kind) {
    case 'blobs':
      return await (await import('@holdfast/blobs/testing')).verifyBlobs(harness, options);
    case 'ledger':
      return await (await import('@holdfast/journal/testing')).verifyLedger(harness, options);
    case 'leaser':
      return await (await import('@holdfast/lease/testing')).verifyLeaser(harness, options);
  }
}

function reportJson(report: ContractReport) {
  return {
    ...report,
    cases: report.cases.map((result) => ({ ...result, failure: result.failure?.toJSON() })),
  };
}

function reportText(report: ContractReport): string {
  const lines = [`${printable(report.adapter)}: ${report.summary} (seed ${report.seed})`];
  for (const { outcome, clause, name, failure, advisory } of report.cases) {
    if (outcome === 'passed') continue;
    lines.push(`  ${advisory ? 'advisory' : 'failed'} ${clause} ${name}`);
    if (failure !== undefined) lines.push(`    ${printable(failure.detail)}`);
  }
  return `${lines.join('\n')}\n`;
}
