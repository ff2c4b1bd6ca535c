/**
 * Reads vitest's JSON report: tests by outcome, a file that could not run as one failure, everything skipped by name.
 * @param {{ testResults: { name: string, status: string, message?: string,
 *   assertionResults: { fullName: string, status: string }[] }[] }} report
 * @returns {{ passed: number, failed: number, leftOut: string[] }}
 */
export function readVitestReport(report) {
  let passed = 0;
  let failed = 0;
  /** @type {string[]} */
  const leftOut = [];
  for (const file of report.testResults) {
    let failedHere = 0;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') passed += 1;
      else if (test.status === 'failed') failedHere += 1;
      else leftOut.push(`${test.status} test: ${test.fullName}`);
    }
    if (file.status === 'failed' && failedHere === 0) failedHere = 1;
    failed += failedHere;
  }
  return { passed, failed, leftOut };
}

/**
 * Reads the summary at the end of the TAP output of `node --test`.
 * @param {string} tap
 * @returns {{ passed: number, failed: number, skipped: number }}
 */
export function readNodeTestSummary(tap) {
  /** @param {string} word */
  const figure = (word) => Number([...tap.matchAll(new RegExp(`^# ${word} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  return {
    passed: figure('pass'),
    failed: figure('fail') + figure('cancelled'),
    skipped: figure('skipped') + figure('todo'),
  };
}
