/** The version of the tables that this release works with. */
export const schemaVersion = 1;

/** The name of the schema when none is given. */
export const defaultSchema = 'holdfast';

/** @throws TypeError when it is no plain lower-case identifier. */
export function parseSchema(schema: unknown): string {
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,47}$/.test(schema) || schema.startsWith('pg_')) {
    throw new TypeError(
      'a schema is 1 to 48 characters of a to z, 0 to 9 and _, does not begin with a digit or "pg_"',
    );
  }
  return schema;
}

/** Where notifications of a schema go. Their payload is `l:` or `j:` (lease, journal) and the name. */
export function channelOf(schema: string): string {
  return `holdfast_${schema}`;
}

/**
 * One statement that makes the tables or brings them up to date. A DO block is atomic, takes its lock for its own
 * transaction only, and leaves nothing on the connection: it works through any pooler, and any number of hosts may run it
 * at once. Steps are added at the end and never changed.
 */
export function migration(schema: string): string {
  return `do $migration$
declare present int;
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast ${schema}', 0));
  create schema if not exists ${schema};
  create table if not exists ${schema}.version (one boolean primary key default true check (one), version int not null);
  insert into ${schema}.version (version) values (0) on conflict do nothing;
  select version into present from ${schema}.version;
  if present < 1 then
    create table ${schema}.ledger (
      id bigint generated always as identity primary key,
      name text collate "C" not null unique,
      tip bigint not null check (tip between 1 and 9007199254740991)
    ) with (fillfactor = 50);
    create table ${schema}.record (
      ledger bigint not null references ${schema}.ledger on delete cascade,
      seq bigint not null,
      digest bytea not null check (octet_length(digest) = 32),
      data bytea not null,
      primary key (ledger, seq)
    );
    alter table ${schema}.record alter column data set storage external;
    create table ${schema}.lease (
      name text collate "C" primary key,
      epoch bigint not null check (epoch between 1 and 9007199254740991),
      nonce text not null,
      owner text not null,
      expires timestamptz not null
    ) with (fillfactor = 50);
    update ${schema}.version set version = 1;
  end if;
end
$migration$`;
}
