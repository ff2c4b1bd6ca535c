import type { PostgresQuery, PostgresResult } from '@holdfast/postgres';

/** What a server in good order says when it is asked about itself. */
export const healthy: Readonly<Record<string, unknown>> = {
  server: 150_020,
  version: 'holdfast.version',
  replica: false,
  read_only: 'off',
  synchronous_commit: 'on',
  fsync: 'on',
  full_page_writes: 'on',
  statement_timeout: '0',
};

export interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
}

type Answer = (sent: Sent) => Promise<PostgresResult['rows']> | PostgresResult['rows'];

/** A client whose answers the test decides; the questions at opening are answered from `facts`. */
export class FakeServer implements PostgresQuery {
  readonly sent: Sent[] = [];
  facts: Record<string, unknown> = { ...healthy };
  schemaVersion: number | undefined = 1;
  answer: Answer = () => [];

  async query(text: string, values: unknown[] = []): Promise<PostgresResult> {
    if (text.includes('server_version_num')) {
      return { rows: [{ ...this.facts, version: this.schemaVersion === undefined ? null : 'there' }] };
    }
    if (text.startsWith('select version from')) return { rows: [{ version: this.schemaVersion }] };
    const sent = { text, values };
    this.sent.push(sent);
    return { rows: await this.answer(sent) };
  }
}

/** An error as `pg` gives it for one that the server reported. */
export function serverError(code: string, severity = 'ERROR', message = 'as the server says'): Error {
  return Object.assign(new Error(message), { code, severity });
}

/** An error of the system, as Node gives it. */
export function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}
