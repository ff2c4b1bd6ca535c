import type { Clock, JsonValue, Random } from '@holdfast/base';
import type { JournalReading, SessionJournal } from '@holdfast/journal';
import type { HostLock, RootIdentity } from '@holdfast/restore';
import type { Ref } from '@holdfast/workspacestore';

import type { SessionController } from './controller.js';
import type { ShutdownDeadlines } from './internal/shutdown.js';
import type { AnyLoop } from './loop.js';
import type { SnapshotPolicy } from './policy.js';
import type { SessionWorkspace } from './workspace.js';

/** The workspace of a session with what its restores need. */
export interface RuntimeWorkspace extends SessionWorkspace {
  readonly policy: SnapshotPolicy;
  /** The running process, in terms that recovery understands. */
  readonly owner: JsonValue;
  /** The same in one word, for the journal. */
  readonly hostName?: string | undefined;
  readonly hostLock: HostLock;
  /** The root's identity when the session took it; a directory that replaced it meanwhile is not restored into. */
  rootIdentity(): RootIdentity | undefined;
  /** Takes note of the root's identity: at the beginning and after each restore. */
  retakeRoot(): void;
  /** Releases the root's lease and what else the placement holds. */
  release(): Promise<void>;
}

/** What a session runs on: made by whoever opens it, ended by its shutdown. */
export interface RuntimeParts {
  readonly journal: SessionJournal;
  readonly loops: readonly AnyLoop[];
  /** Names of the loops to start with. */
  readonly primers: readonly string[];
  readonly workspace: RuntimeWorkspace | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** A private directory for the socket at which other processes reach this owner; absent: they cannot. */
  readonly controlDirectory?: string | undefined;
  readonly deadlines?: Partial<ShutdownDeadlines> | undefined;
  /** Makes a new session from a point of this one. */
  readonly fork: (origin: ForkOrigin, signal: AbortSignal | undefined) => Promise<SessionController>;
  /** Called after everything was let go. */
  readonly onClosed?: (() => void) | undefined;
}

/** Where a fork begins. */
export interface ForkPoint {
  /** Id of a turn, an event or a checkpoint; default: the last checkpoint. */
  readonly at?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A point of a session that another one begins with. */
export interface ForkOrigin {
  readonly journal: JournalReading;
  /** The last record of the conversation that goes along. */
  readonly seq: number;
  readonly ref: Ref;
}
