import type { Command } from '../command.js';
import { catCommand } from './cat.js';
import { lsCommand } from './ls.js';
import { materializeCommand } from './materialize.js';
import { recoverCommand } from './recover.js';
import { restoreCommand } from './restore.js';
import { sessionListCommand } from './session-list.js';
import { sessionLogCommand } from './session-log.js';
import { snapshotCommand } from './snapshot.js';
import { verifyBackendCommand } from './verify-backend.js';

/** Every command, in the order the overview shows them. */
export const commands: readonly Command[] = [
  snapshotCommand,
  materializeCommand,
  lsCommand,
  catCommand,
  restoreCommand,
  recoverCommand,
  sessionListCommand,
  sessionLogCommand,
  verifyBackendCommand,
];
