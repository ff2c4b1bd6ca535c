import { expect, test } from 'vitest';

import { runTwoHosts } from '../../src/two-hosts.mjs';

test.each(['postgres', 'nats'] as const)(
  'a session on S3 and %s moves between hosts, and a host that was overtaken can do nothing',
  async (engine) => {
    const lines: string[] = [];
    const { killedToOpenMs, stoppedToOpenMs, tried } = await runTwoHosts(engine, (line) => lines.push(line));
    console.log(lines.join('\n'));
    expect(Object.keys(tried)).toEqual(['turn', 'checkpoint', 'restore', 'release']);
    for (const operation of ['turn', 'checkpoint', 'restore']) {
      expect(tried[operation]).toMatch(/^(?:JOURNAL_FENCED|LEASE_LOST|SESSION_[A-Z_]+|RESTORE_FAILED)$/);
    }
    expect(killedToOpenMs).toBeGreaterThan(0);
    expect(stoppedToOpenMs).toBeGreaterThan(0);
  },
);
