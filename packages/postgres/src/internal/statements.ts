import { channelOf } from './schema.js';

/**
 * What every statement that writes begins with. The settings hold for its own transaction, which is the statement: waits
 * for locks are bounded by the server, and a session that somebody set to asynchronous commits does not make ours so.
 */
function guard(parameter: number): string {
  return `guard as materialized (
  select set_config('lock_timeout', $${parameter}::text, true),
         case when $${parameter + 1}::boolean and current_setting('synchronous_commit') = 'off'
              then set_config('synchronous_commit', 'on', true) end
)`;
}

/** The statements on one schema. Each is complete: none relies on an earlier one or on its connection. */
export interface Statements {
  /** $1 name, $2 expected tip (0), $3 data, $4 digests, $5 tell, $6 lock timeout, $7 synchronous. */
  readonly create: string;
  /** The same parameters. The row of the ledger is what writers exclude each other by. */
  readonly extend: string;
  /** $1 name. */
  readonly tip: string;
  /** $1 ledger, $2 from, $3 to, $4 most rows, $5 most bytes (the first row comes in any case). */
  readonly page: string;
  readonly pageBack: string;
  /** $1 ledger. Whether it is still there. */
  readonly present: string;
  /** $1 least name, $2 the bound above, $3 most rows, $4 whether the least itself is left out. */
  readonly names: string;
  /** $1 name, $2 tell, $3 lock timeout, $4 synchronous. Records follow by their foreign key. */
  readonly remove: string;
  /**
   * $1 name, $2 above, $3 nonce, $4 owner, $5 time to live in ms, $6 lock timeout, $7 synchronous. No row: somebody has
   * it. Time is the server's, and read after the row was locked: `now()` is the transaction's beginning.
   */
  readonly acquire: string;
  /** $1 name. Who has it, and for how long still. */
  readonly holder: string;
  /**
   * $1 name, $2 epoch, $3 nonce, $4 time to live in ms, $5 lock timeout, $6 synchronous. A lease that ran out and that
   * nobody took is extended: this and a take-over exclude each other by the row.
   */
  readonly renew: string;
  /** $1 name, $2 epoch, $3 nonce, $4 lock timeout, $5 synchronous. The row stays: it is the counter. */
  readonly free: string;
}

export function statementsOf(schema: string): Statements {
  const [ledger, record, lease] = [`${schema}.ledger`, `${schema}.record`, `${schema}.lease`];
  const channel = channelOf(schema);
  /** In the same transaction: told if, and only if, it commits. */
  const telling = (payload: string, happened: string): string =>
    `case when ${happened} then pg_notify('${channel}', ${payload})::text end as told`;
  const appended = (source: string): string => `, written as (
  insert into ${record} (ledger, seq, digest, data)
  select ${source}.id, $2::bigint + part.at, part.digest, part.data
  from ${source}, unnest($4::bytea[], $3::bytea[]) with ordinality as part(digest, data, at)
  returning 1
)
select count(*)::int as written, ${telling(`'j:' || $1::text`, 'count(*) > 0 and $5::boolean')} from written`;

  return {
    create: `with ${guard(6)}, ledger as (
  insert into ${ledger} (name, tip) select $1::text, $2::bigint + cardinality($3::bytea[]) from guard
  on conflict (name) do nothing returning id
)${appended('ledger')}`,
    extend: `with ${guard(6)}, ledger as (
  update ${ledger} set tip = tip + cardinality($3::bytea[]) from guard
  where name = $1::text and tip = $2::bigint returning id
)${appended('ledger')}`,
    tip: `select id, tip from ${ledger} where name = $1::text`,
    page: page(record, 'asc'),
    pageBack: page(record, 'desc'),
    present: `select 1 as present from ${ledger} where id = $1::bigint`,
    names: `select name from ${ledger}
where name >= $1::text and name < $2::text and not ($4::boolean and name = $1::text)
order by name limit $3::int`,
    remove: `with ${guard(3)}, removed as (
  delete from ${ledger} using guard where name = $1::text returning 1
)
select count(*)::int as removed, ${telling(`'j:' || $1::text`, 'count(*) > 0 and $2::boolean')} from removed`,
    acquire: `with ${guard(6)}, granted as (
  insert into ${lease} as present (name, epoch, nonce, owner, expires)
  select $1::text, $2::bigint + 1, $3::text, $4::text, clock_timestamp() + $5::float8 * interval '1 ms' from guard
  on conflict (name) do update
  set epoch = greatest(present.epoch, $2::bigint) + 1, nonce = excluded.nonce, owner = excluded.owner,
      expires = clock_timestamp() + $5::float8 * interval '1 ms'
  where present.expires <= clock_timestamp()
  returning epoch
)
select epoch, ${telling(`'l:' || $1::text`, 'true')} from granted`,
    holder: `select epoch, nonce, owner,
  case when expires = '-infinity' then 0
       else greatest(0, extract(epoch from expires - clock_timestamp()) * 1000) end::float8 as remaining
from ${lease} where name = $1::text`,
    renew: `with ${guard(5)}
update ${lease} set expires = clock_timestamp() + $4::float8 * interval '1 ms' from guard
where name = $1::text and epoch = $2::bigint and nonce = $3::text returning 1 as renewed`,
    free: `with ${guard(4)}, freed as (
  update ${lease} set expires = '-infinity', nonce = '' from guard
  where name = $1::text and epoch = $2::bigint and nonce = $3::text returning 1
)
select ${telling(`'l:' || $1::text`, 'true')} from freed`,
  };
}

function page(record: string, order: 'asc' | 'desc'): string {
  return `with page as materialized (
  select seq, digest, data from ${record}
  where ledger = $1::bigint and seq between $2::bigint and $3::bigint order by seq ${order} limit $4::int
)
select seq, digest, data from (
  select seq, digest, data, sum(octet_length(data)) over (order by seq ${order}) - octet_length(data) as before from page
) sized
where before < $5::bigint order by seq ${order}`;
}
