import type { WrongDriver } from '../../../../tools/engines/wrong-drivers.mjs';

const statements = 'internal/statements.ts';
const ledger = 'ledger-driver.ts';
const leaser = 'leaser-driver.ts';

export const ledgerMutants: readonly WrongDriver[] = [
  {
    mistake: 'the fence is not looked at',
    seenBy: ['2.3', '2.5'],
    edits: [[statements, 'and tip = $2::bigint returning id', 'returning id']],
  },
  {
    mistake: 'an append goes wherever the end is',
    seenBy: ['2.3', '8.5'],
    edits: [
      [
        ledger,
        'const { create, extend } = this.#statements;',
        'const { create, extend } = this.#statements;\n expectedTip = await this.tip(name);',
      ],
    ],
  },
  {
    mistake: 'the number of records that were written is not looked at',
    seenBy: ['2.3', '2.5'],
    edits: [
      [
        ledger,
        "if (Number(rows[0]?.['written']) === records.length) return;",
        'if (rows.length > 0) return;',
      ],
    ],
  },
  {
    mistake: 'an append is acknowledged before it is committed',
    seenBy: ['2.3', '7.2'],
    edits: [
      [
        'internal/connection.ts',
        'answer(this.#client.query(text, values));',
        `const sent = this.#client.query(text, values);
         if (!text.includes('as written')) return answer(sent);
         sent.catch(() => undefined);
         answer({ rows: [{ written: (values[2] as unknown[]).length }] });`,
      ],
    ],
  },
  {
    mistake: 'an append with an unknown outcome is made again behind the present end',
    seenBy: ['7.2', '7.3'],
    edits: [
      [
        ledger,
        'throw new LedgerAmbiguousError(name, expectedTip, { cause: error });',
        'return await this.append(name, await this.tip(name), records, options);',
      ],
    ],
  },
  {
    mistake: 'an unknown outcome is called a definite failure',
    seenBy: ['7.2'],
    edits: [
      [
        'internal/statement-failure.ts',
        "const definite = typeof syscall === 'string' && connecting.test(syscall);",
        'const definite = true;',
      ],
    ],
  },
  {
    mistake: 'a read begins one record too late',
    seenBy: ['3.2', '3.8'],
    edits: [[ledger, 'let { from, to } = range;', 'let { from, to } = range;\n from += 1;']],
  },
  {
    mistake: 'a read loses the record behind a full page',
    seenBy: ['3.9'],
    edits: [
      [
        ledger,
        'left -= rows.length;',
        `left -= rows.length;
         if (rows.length === pageRows && !range.reverse) from += 1;
         if (rows.length === pageRows && range.reverse) to -= 1;`,
      ],
    ],
  },
  {
    mistake: 'a record that fills a page by itself is left out',
    seenBy: ['2.9'],
    edits: [[statements, 'where before < $5::bigint', 'where before + octet_length(data) < $5::bigint']],
  },
  {
    mistake: 'the tip is remembered and not asked for again',
    seenBy: ['8.5'],
    edits: [
      [
        ledger,
        'return (await this.#find(name)).tip;',
        `const tips = ((this as any).remembered ??= new Map<string, number>());
         if (!tips.has(name)) tips.set(name, (await this.#find(name)).tip);
         return tips.get(name);`,
      ],
    ],
  },
  {
    mistake: 'news are the only thing that a follower goes by',
    seenBy: ['5.2'],
    edits: [
      [
        ledger,
        'await wait.until(this.#settings.pollMilliseconds, options.signal);',
        'await wait.until(2_000_000_000, options.signal);',
      ],
    ],
  },
  {
    mistake: 'a prefix is taken for a pattern',
    seenBy: ['4.2'],
    edits: [
      [
        statements,
        'where name >= $1::text and name < $2::text and',
        "where name >= $1::text and name like rtrim($2::text, chr(127)) || '%' and",
      ],
    ],
  },
  {
    mistake: 'names are in no order of bytes',
    seenBy: ['4.2'],
    edits: [[statements, 'order by name limit', 'order by md5(name) limit']],
  },
  {
    mistake: 'a list ends with its first page',
    seenBy: ['more names than a page holds are listed, each once'],
    edits: [[ledger, 'if (rows.length < namesPerPage) return;', 'if (rows.length <= namesPerPage) return;']],
  },
  {
    mistake: 'a list repeats the last name of every page',
    seenBy: ['more names than a page holds are listed, each once'],
    edits: [[ledger, 'leaveOut = true;', 'leaveOut = false;']],
  },
  {
    mistake: 'a deletion keeps the end of the ledger',
    seenBy: ['4.4', '4.6'],
    edits: [
      [
        statements,
        'delete from ${ledger} using guard where name = $1::text returning 1',
        'delete from ${record} using ${ledger}, guard where ${ledger}.id = ledger and name = $1::text returning 1',
      ],
    ],
  },
  {
    mistake: 'a deletion takes every ledger below the name with it',
    seenBy: ['4.4'],
    edits: [
      [
        statements,
        'delete from ${ledger} using guard where name = $1::text returning 1',
        "delete from ${ledger} using guard where name like $1::text || '%' returning 1",
      ],
    ],
  },
  {
    mistake: 'a deletion leaves the records behind',
    seenBy: ['appends that race deletions leave nothing behind'],
    edits: [['internal/schema.ts', ' references ${schema}.ledger on delete cascade', '']],
  },
  {
    mistake: 'a read whose ledger was deleted ends after a part',
    seenBy: ['4.7'],
    edits: [[ledger, 'await this.#explainAbsence(name, ledger, range.reverse ? to : from);', '']],
  },
  {
    mistake: 'records are stored as text',
    seenBy: ['2.8'],
    edits: [
      [
        ledger,
        'records.map(asBuffer),',
        'records.map((record) => Buffer.from(new TextDecoder().decode(record))),',
      ],
    ],
  },
  {
    mistake: 'digests are not compared',
    seenBy: ['7.5'],
    edits: [[ledger, 'if (!equalBytes(digest, digestOf(seq, data)))', 'if (digest.length === 0)']],
  },
];

export const leaserMutants: readonly WrongDriver[] = [
  {
    mistake: 'whoever asks is granted the name',
    seenBy: ['2.2', '2.3', '2.7'],
    edits: [[statements, 'where present.expires <= clock_timestamp()', '']],
  },
  {
    mistake: 'a lease runs out by the clock of who asks for it',
    seenBy: ['2.3'],
    edits: [
      [
        statements,
        "$4::text, clock_timestamp() + $5::float8 * interval '1 ms' from guard\n  on",
        "$4::text, to_timestamp($8::float8 / 1000) + $5::float8 * interval '1 ms' from guard\n  on",
      ],
      [
        statements,
        "expires = clock_timestamp() + $5::float8 * interval '1 ms'\n",
        "expires = to_timestamp($8::float8 / 1000) + $5::float8 * interval '1 ms'\n",
      ],
      [
        statements,
        'where present.expires <= clock_timestamp()',
        'where present.expires <= to_timestamp($8::float8 / 1000)',
      ],
      [
        leaser,
        'ttlMilliseconds,\n      settings.lockTimeout,\n      settings.synchronous,',
        'ttlMilliseconds,\n      settings.lockTimeout,\n      settings.synchronous,\n      this.#facts.clock.now(),',
      ],
    ],
  },
  {
    mistake: 'an epoch is granted again',
    seenBy: ['3.1', '3.2', '5.9'],
    edits: [
      [
        statements,
        'epoch = greatest(present.epoch, $2::bigint) + 1',
        'epoch = greatest(present.epoch, $2::bigint + 1)',
      ],
    ],
  },
  {
    mistake: 'the least epoch is not looked at when the name is known',
    seenBy: ['3.4'],
    edits: [[statements, 'epoch = greatest(present.epoch, $2::bigint) + 1', 'epoch = present.epoch + 1']],
  },
  {
    mistake: 'a least epoch lowers the counter',
    seenBy: ['3.5'],
    edits: [
      [
        statements,
        'epoch = greatest(present.epoch, $2::bigint) + 1',
        'epoch = case when $2::bigint > 0 then $2::bigint else present.epoch end + 1',
      ],
    ],
  },
  {
    mistake: 'epochs are floating-point numbers',
    seenBy: ['3.6'],
    edits: [[statements, '  returning epoch\n)', '  returning epoch::float4\n)']],
  },
  {
    mistake: 'the counter goes with the lease',
    seenBy: ['3.1', '3.2'],
    edits: [
      [
        statements,
        "update ${lease} set expires = '-infinity', nonce = '' from guard",
        'delete from ${lease} using guard',
      ],
    ],
  },
  {
    mistake: 'a release frees whoever has the name',
    seenBy: ['4.6'],
    edits: [
      [
        statements,
        "nonce = '' from guard\n  where name = $1::text and epoch = $2::bigint and nonce = $3::text",
        "nonce = '' from guard\n  where name = $1::text and $2::bigint > 0 and $3::text > ''",
      ],
    ],
  },
  {
    mistake: 'a release changes nothing on the server',
    seenBy: ['4.1', '6.3'],
    edits: [
      [
        leaser,
        'await connection.runAgain(statements.free, [name, epoch, nonce, lockTimeout, synchronous]);',
        '',
      ],
    ],
  },
  {
    mistake: 'a holder that was overtaken believes that it stands',
    seenBy: ['5.4'],
    edits: [
      [
        leaser,
        "return rows.length > 0 ? 'stands' : 'taken-over';",
        "return rows.length > 0 ? 'stands' : 'stands';",
      ],
    ],
  },
  {
    mistake: 'a renewal takes the lease of whoever has the name',
    seenBy: ['5.4'],
    edits: [
      [
        statements,
        "interval '1 ms' from guard\nwhere name = $1::text and epoch = $2::bigint and nonce = $3::text",
        "interval '1 ms', epoch = $2::bigint, nonce = $3::text from guard\nwhere name = $1::text",
      ],
    ],
  },
  {
    mistake: 'a renewal does not prolong anything',
    seenBy: ['a lease is kept for as long as its holder renews it, by the clock of the server'],
    edits: [
      [
        statements,
        "update ${lease} set expires = clock_timestamp() + $4::float8 * interval '1 ms' from guard",
        'update ${lease} set expires = case when $4::float8 > 0 then expires end from guard',
      ],
    ],
  },
  {
    mistake: 'a renewal that fails counts as one that succeeded',
    seenBy: ['5.2', '5.7', 'a holder that is cut off knows before others can get the name, by real clocks'],
    edits: [
      [
        leaser,
        'const rows = await connection.run(statements.renew, values);',
        'const rows = await connection.run(statements.renew, values).catch(() => [{}]);',
      ],
    ],
  },
  {
    mistake: 'a refusal does not say who has the name',
    seenBy: ['2.4'],
    edits: [
      [
        leaser,
        'throw new LeaseHeldError(name, holder.epoch, holder.owner);',
        'throw new LeaseHeldError(name, holder.epoch);',
      ],
    ],
  },
  {
    mistake: 'a waiter goes by news only',
    seenBy: ['6.3', '6.8'],
    edits: [
      [
        leaser,
        'await wait.until(soon, options.signal);',
        'await wait.until(2_000_000_000 + soon, options.signal);',
      ],
    ],
  },
  {
    mistake: 'an attempt that was aborted keeps what it was granted',
    seenBy: ['7.2'],
    edits: [[leaser, 'await lease.release().catch(() => undefined);\n', '']],
  },
];
