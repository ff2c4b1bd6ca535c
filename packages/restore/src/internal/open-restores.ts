import { WorkspaceRestoreError } from '../errors.js';
import { IntentLog } from './intent-log.js';
import type { ScratchDirectory } from './session-scratch.js';

/**
 * Refuses to begin while an earlier restore of this root is open, whoever began it. An outcome of this session's own that
 * its journal already has is cleared away.
 * @throws WorkspaceRestoreError `recovery-refused`.
 */
export async function refuseOpenRestores(
  scratch: ScratchDirectory,
  session: string,
  root: string,
  settled: ((restoreId: string) => boolean) | undefined,
): Promise<void> {
  for (const name of scratch.sessions()) {
    using directory = scratch.openSession(name);
    const found = look(directory.dir, root);
    if (found === undefined || (found.over && name !== session)) continue;
    if (found.over && settled?.(found.restoreId) === true) {
      await directory.removeWork(found.restoreId);
      directory.removeIntent();
      continue;
    }
    const detail = found.over
      ? 'the outcome of an earlier restore is not settled; run recover'
      : 'an earlier restore was interrupted; run recover';
    throw new WorkspaceRestoreError('recovery-refused', detail, { root, restoreId: found.restoreId });
  }
}

function look(
  directory: Parameters<typeof IntentLog.open>[0],
  root: string,
): { readonly over: boolean; readonly restoreId: string } | undefined {
  try {
    using log = IntentLog.open(directory);
    if (log === undefined) return undefined;
    return { over: log.phase === 'committed' || log.phase === 'undone', restoreId: log.intent.restoreId };
  } catch (error) {
    throw new WorkspaceRestoreError(
      'recovery-refused',
      'an earlier restore left an intent that cannot be read; run recover',
      {
        root,
        cause: error,
      },
    );
  }
}
