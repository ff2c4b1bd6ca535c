import { withoutCredentials } from '@holdfast/base';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';

import { NatsUnsuitableError } from './errors.js';
import { requestFailure } from './internal/request-failure.js';

/**
 * What a server promises with its acknowledgement. `synced`: it is on the disk. `replicated`: most of several servers have
 * it, and a loss of power of most of them at once loses the last two minutes. `unsynced`: it survives the end of the
 * process, and a loss of power loses the last two minutes.
 */
export type NatsAcknowledgement = 'synced' | 'replicated' | 'unsynced';

export interface NatsReport {
  /** Of the server that this client is connected to. */
  readonly serverVersion: string;
  readonly acknowledges: NatsAcknowledgement;
  /** What it is known by: monitoring addresses, or nothing but the default. */
  readonly evidence: 'monitoring' | 'none';
  /** How often servers sync, in milliseconds, by monitoring address without its credentials; 0 is with every write. */
  readonly syncMilliseconds: Readonly<Record<string, number>>;
  readonly replicas: number;
}

export interface ProbeNatsOptions {
  /** Monitoring addresses of every server that keeps the streams, such as `http://10.0.0.5:8222`. */
  readonly monitoring?: readonly string[] | undefined;
  /** Servers that keep each stream. Default 1. */
  readonly replicas?: number | undefined;
  /** Milliseconds until the wait for an answer ends. Default 5,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** What a server does that says nothing else: versions before 2.10 cannot do otherwise. */
const defaultSyncMilliseconds = 120_000;
const oldest: readonly [number, number] = [2, 9];

/**
 * Looks at a server and changes nothing. How often servers sync is in none of the answers that clients get; only their
 * monitoring addresses tell.
 * @throws NatsUnsuitableError when there is no JetStream, or the server is too old.
 * @throws NatsRequestError when it cannot be asked.
 */
export async function probeNats(
  connection: NatsConnection,
  options: ProbeNatsOptions = {},
): Promise<NatsReport> {
  const timeout = options.timeoutMilliseconds ?? 5_000;
  const serverVersion = connection.info?.version ?? 'unknown';
  if (!isAtLeast(serverVersion, oldest))
    throw new NatsUnsuitableError('server-too-old', `version ${serverVersion}`);
  if (connection.info?.jetstream !== true)
    throw new NatsUnsuitableError('no-jetstream', 'the server has it off');
  try {
    await (await jetstreamManager(connection, { timeout, checkAPI: false })).getAccountInfo();
  } catch (error) {
    const failure = requestFailure(error);
    if (failure.apiCode === 10_039 || (failure.definite && failure.apiCode === undefined)) {
      throw new NatsUnsuitableError('no-jetstream', 'the account may not use it');
    }
    throw failure;
  }
  const syncMilliseconds: Record<string, number> = {};
  const intervals: number[] = [];
  for (const address of new Set(options.monitoring)) {
    const interval = await syncOf(address, timeout);
    intervals.push(interval);
    syncMilliseconds[withoutCredentials(address)] = interval;
  }
  const replicas = options.replicas ?? 1;
  const synced = intervals.length >= Math.max(1, replicas) && intervals.every((interval) => interval === 0);
  return Object.freeze({
    serverVersion,
    acknowledges: synced ? 'synced' : replicas >= 3 ? 'replicated' : 'unsynced',
    evidence: intervals.length > 0 ? 'monitoring' : 'none',
    syncMilliseconds: Object.freeze(syncMilliseconds),
    replicas,
  });
}

/** Tells whether `found` is as durable as `wanted`, or more. */
export function isAsDurable(found: NatsAcknowledgement, wanted: NatsAcknowledgement): boolean {
  const order: readonly NatsAcknowledgement[] = ['unsynced', 'replicated', 'synced'];
  return order.indexOf(found) >= order.indexOf(wanted);
}

async function syncOf(address: string, timeout: number): Promise<number> {
  let found: unknown;
  try {
    const response = await fetch(new URL('/varz', address), { signal: AbortSignal.timeout(timeout) });
    found = await response.json();
  } catch (error) {
    throw requestFailure(error);
  }
  const config = ((found as { jetstream?: { config?: unknown } } | null)?.jetstream?.config ?? {}) as {
    sync_always?: unknown;
    sync_interval?: unknown;
  };
  if (config.sync_always === true) return 0;
  // In nanoseconds; a server that does not say it has the default.
  return typeof config.sync_interval === 'number'
    ? config.sync_interval / 1_000_000
    : defaultSyncMilliseconds;
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [found, part] = version.split('.').map(Number);
  if (found === undefined || part === undefined || Number.isNaN(found) || Number.isNaN(part)) return false;
  return found > major || (found === major && part >= minor);
}
