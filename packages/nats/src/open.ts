import { type Clock, Hints, type Random, systemClock, systemRandom } from '@holdfast/base';
import { Ledger } from '@holdfast/journal';
import { Leaser } from '@holdfast/lease';
import { DiscardPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/nats-core';

import { NatsUnsuitableError } from './errors.js';
import { requestFailure } from './internal/request-failure.js';
import { Streams } from './internal/streams.js';
import { defaultPrefix, parsePrefix } from './internal/subjects.js';
import { NatsLeaserDriver } from './leaser-driver.js';
import { NatsLedgerDriver } from './ledger-driver.js';
import { isAsDurable, type NatsAcknowledgement, type NatsReport, probeNats } from './probe.js';

export interface NatsOptions {
  /** Begins the names of streams and subjects: 1 to 48 of `A-Z a-z 0-9 _ -`. Default `holdfast`. */
  readonly prefix?: string | undefined;
  /**
   * The least that an acknowledgement must mean. Default `synced`, which needs `monitoring`. What is weaker has to be asked
   * for, because servers sync every two minutes unless they are told otherwise.
   */
  readonly acknowledge?: NatsAcknowledgement | undefined;
  /** Monitoring addresses of every server that keeps the streams: the only place that tells how often they sync. */
  readonly monitoring?: readonly string[] | undefined;
  /** Servers that keep each stream; used when a stream is made. Default 1. */
  readonly replicas?: number | undefined;
  /** Milliseconds until the wait for an answer ends. Default 5,000. */
  readonly requestMilliseconds?: number | undefined;
  /**
   * Milliseconds after which a lease that is not renewed can be taken by others. At least 1,000. Default 15,000. It is a
   * property of the stream: every host has to give the same one.
   */
  readonly ttlMilliseconds?: number | undefined;
  /** Milliseconds after which those who wait look by themselves. Default 250. */
  readonly pollMilliseconds?: number | undefined;
  /** Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Default: the platform's randomness. */
  readonly random?: Random | undefined;
}

/** Ledgers and leases in the streams of one account. */
export interface NatsStorage extends AsyncDisposable {
  readonly ledger: Ledger;
  readonly leaser: Leaser;
  /** What was found when it was opened. */
  readonly report: NatsReport;
  /** Closes both. The connection stays open. */
  close(): Promise<void>;
}

/**
 * Opens the ledgers and leases of an account, and makes their three streams when they are not there. The connection belongs
 * to the caller, who closes it after the storage.
 * @throws NatsUnsuitableError when the server cannot be used as it is, with what to do.
 * @throws NatsRequestError when it cannot be asked.
 */
export async function openNats(connection: NatsConnection, options: NatsOptions = {}): Promise<NatsStorage> {
  const prefix = parsePrefix(options.prefix ?? defaultPrefix);
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const timeout = positive('requestMilliseconds', options.requestMilliseconds ?? 5_000);
  const ttlMilliseconds = positive('ttlMilliseconds', options.ttlMilliseconds ?? 15_000, 1_000);
  const pollMilliseconds = positive('pollMilliseconds', options.pollMilliseconds ?? 250);
  const replicas = positive('replicas', options.replicas ?? 1);
  const wanted = options.acknowledge ?? 'synced';
  const { monitoring } = options;
  const report = await probeNats(connection, { monitoring, replicas, timeoutMilliseconds: timeout });
  if (!isAsDurable(report.acknowledges, wanted)) {
    throw new NatsUnsuitableError(
      'not-durable',
      `what it acknowledges is ${report.acknowledges}, not ${wanted}`,
    );
  }
  const streams = await manage(connection, timeout);
  const names = { journal: `${prefix}-journal`, leases: `${prefix}-leases`, epochs: `${prefix}-epochs` };
  const common = {
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: replicas,
    // A full stream refuses, and never forgets.
    discard: DiscardPolicy.New,
    // Replicas may be behind, and must not answer.
    allow_direct: false,
  };
  const kept = { max_age: 0, max_msgs: -1, max_bytes: -1 };
  const found = [
    await streams.ensure({
      ...common,
      ...kept,
      name: names.journal,
      subjects: [`${prefix}.journal.*`, `${prefix}.part.*.*.*.*`],
      max_msgs_per_subject: -1,
      deny_delete: true,
    }),
    await streams.ensure({
      ...common,
      ...kept,
      name: names.leases,
      subjects: [`${prefix}.lease.*`],
      max_msgs_per_subject: 1,
      max_age: nanos(ttlMilliseconds),
      // With `new`, a second message of a subject would be refused instead of taking the place of the first.
      discard: DiscardPolicy.Old,
    }),
    await streams.ensure({
      ...common,
      ...kept,
      name: names.epochs,
      subjects: [`${prefix}.epoch.*`],
      max_msgs_per_subject: 1,
      discard: DiscardPolicy.Old,
    }),
  ];
  if (found.some((count) => count < replicas)) {
    throw new NatsUnsuitableError('stream-mismatch', `a stream has less than ${replicas} replicas`);
  }
  const durable = report.acknowledges === 'synced';
  const shared = { streams, clock, random, prefix, durable, pollMilliseconds };
  const ledger = new Ledger(
    new NatsLedgerDriver({
      ...shared,
      hints: new Hints(clock),
      stream: names.journal,
      maxMessageBytes: connection.info?.max_payload ?? 1_048_576,
    }),
    { clock },
  );
  const leaser = new Leaser(
    new NatsLeaserDriver({
      ...shared,
      hints: new Hints(clock),
      leases: names.leases,
      epochs: names.epochs,
      ttlMilliseconds,
    }),
  );
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const outcomes = await Promise.allSettled([ledger.close(), leaser.close()]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };
  return {
    ledger,
    leaser,
    report,
    close: async () => {
      closed ??= close();
      await closed;
    },
    [Symbol.asyncDispose]: async () => {
      closed ??= close();
      await closed;
    },
  };
}

async function manage(connection: NatsConnection, timeout: number): Promise<Streams> {
  try {
    const manager = await jetstreamManager(connection, { timeout });
    return new Streams(connection, jetstream(connection, { timeout }), manager, timeout);
  } catch (error) {
    throw requestFailure(error);
  }
}

function positive(what: string, value: number, least: number = 1): number {
  if (Number.isFinite(value) && value >= least) return value;
  throw new RangeError(`${what} must be a number of at least ${least}, found ${value}`);
}
