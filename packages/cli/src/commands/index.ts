import type { Command } from '../command.js';
import { catCommand } from './cat.js';
import { diffCommand } from './diff.js';
import { explainCommand } from './explain.js';
import { exportCommand } from './export.js';
import { gcCommand } from './gc.js';
import { importCommand } from './import.js';
import { listCommand } from './list.js';
import { lsCommand } from './ls.js';
import { maintainCommand } from './maintain.js';
import { materializeCommand } from './materialize.js';
import { recoverCommand } from './recover.js';
import { restoreCommand } from './restore.js';
import { sessionCheckpointCommand } from './session-checkpoint.js';
import { sessionDeleteCommand } from './session-delete.js';
import { sessionForkCommand } from './session-fork.js';
import { sessionListCommand } from './session-list.js';
import { sessionLogCommand } from './session-log.js';
import { sessionNewCommand } from './session-new.js';
import { sessionRestoreCommand, sessionRewindCommand, sessionUndoCommand } from './session-restore.js';
import { snapshotCommand } from './snapshot.js';
import { verifyCommand } from './verify.js';
import { verifyBackendCommand } from './verify-backend.js';

/** Every command, in the order the overview shows them. */
export const commands: readonly Command[] = [
  snapshotCommand,
  listCommand,
  materializeCommand,
  lsCommand,
  catCommand,
  diffCommand,
  restoreCommand,
  recoverCommand,
  verifyCommand,
  gcCommand,
  maintainCommand,
  exportCommand,
  importCommand,
  explainCommand,
  sessionNewCommand,
  sessionListCommand,
  sessionLogCommand,
  sessionCheckpointCommand,
  sessionRestoreCommand,
  sessionRewindCommand,
  sessionUndoCommand,
  sessionForkCommand,
  sessionDeleteCommand,
  verifyBackendCommand,
];
