import { HoldfastError, type JsonValue } from '@holdfast/base';
import { type FileSystem, readFile, replaceFile } from '@holdfast/durable';

import type { HostLock } from './apply-options.js';
import { decodeRecord, encodeRecord, matching, members, wholeNumber } from './internal/intent-codec.js';
import { checkSession, ownerName, ScratchDirectory } from './internal/session-scratch.js';
import { identityOf } from './internal/signature.js';
import type { RootIdentity } from './restore-journal.js';
import { RootPlace, scratchPath } from './scratch.js';
import type { ScratchPlacement } from './strategy.js';

/** Who opened a root last, kept beside the intent: tells a stale root from a current one. */
export interface OwnerRecord {
  readonly session: string;
  readonly epoch: number;
  readonly hostId: string;
  /** Tip of the session's journal when the root was opened. */
  readonly tip: number;
  readonly root: RootIdentity;
}

export interface OwnerRecordOptions {
  readonly scratch?: ScratchPlacement | undefined;
  readonly fileSystem?: FileSystem | undefined;
}

export interface WriteOwnerOptions extends OwnerRecordOptions {
  /** The one that sweeps of this root hold: they remove directories that are empty and files that are half written. */
  readonly hostLock: HostLock;
}

/** Replaces the record durably; the root's identity is added. */
export async function writeOwner(
  root: string,
  record: Omit<OwnerRecord, 'root'>,
  options: WriteOwnerOptions,
): Promise<void> {
  await using lock = await options.hostLock(scratchPath(root, options.scratch));
  void lock;
  using place = RootPlace.open(root, options.fileSystem);
  using scratch = await ScratchDirectory.ensure(place, options.scratch ?? 'sibling');
  using session = await scratch.ensureSession(checkSession(record.session));
  const value: JsonValue = { ...record, root: { ...identityOf(place.presentRoot) } };
  await scratch.syncNames();
  await replaceFile(session.dir, ownerName, encodeRecord(value), { mode: 0o600 });
}

/** Reads the record; `undefined` when there is none or it is damaged. */
export function readOwner(
  root: string,
  session: string,
  options: OwnerRecordOptions = {},
): OwnerRecord | undefined {
  using place = RootPlace.open(root, options.fileSystem);
  using scratch = ScratchDirectory.open(place, options.scratch ?? 'sibling');
  if (scratch === undefined || !scratch.sessions().includes(checkSession(session))) return undefined;
  using directory = scratch.findSession(session);
  const bytes = directory && readFile(directory.dir, ownerName, { maxBytes: 65_536 });
  return bytes === undefined ? undefined : parseOwner(bytes);
}

function parseOwner(bytes: Uint8Array): OwnerRecord | undefined {
  const record = decodeRecord(bytes, 0);
  if (record === undefined) return undefined;
  try {
    const value = members(record.value);
    const identity = members(value['root']);
    return {
      session: matching(value['session'], /^[a-z0-9-]{1,64}$/, 'session'),
      epoch: wholeNumber(value['epoch'], 'epoch'),
      hostId: matching(value['hostId'], /^.{1,256}$/, 'hostId'),
      tip: wholeNumber(value['tip'], 'tip'),
      root: {
        inode: matching(identity['inode'], /^\d{1,20}$/, 'inode'),
        birthtimeNs: matching(identity['birthtimeNs'], /^-?\d{1,20}$/, 'birth time'),
      },
    };
  } catch (error) {
    if (HoldfastError.is(error)) return undefined;
    throw error;
  }
}
