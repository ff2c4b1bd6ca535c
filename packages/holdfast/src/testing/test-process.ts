import type { Blobs } from '@holdfast/blobs';
import type { SessionStore } from '@holdfast/journal';
import type { Leaser } from '@holdfast/lease';
import type { Rig, RigFragment } from '@holdfast/rig';
import type { WorkspaceStore } from '@holdfast/workspacestore';

import type { TestRigOptions } from './test-placement.js';

/** What one process of an application holds open over a test world. */
export interface TestProcess extends AsyncDisposable {
  readonly blobs: Blobs;
  readonly leaser: Leaser;
  readonly store: WorkspaceStore;
  readonly sessions: SessionStore;
  /** What a rig needs besides loops and a workspace, like that of `openLocal`. */
  readonly fragment: RigFragment;
  /** Defines a rig over this process. Throws as `defineRig` does. */
  rig(options?: TestRigOptions): Rig;
  /**
   * Ends the process as a SIGKILL would: its leases are free at once without anybody being told, and whatever it still
   * asks of blobs, journals and leases fails. Code of the test that is still running can go on writing to the root: end
   * it first. Repeating it does nothing.
   */
  kill(): void;
  /** Closes the parts; sessions that are still open must be shut down first. */
  close(): Promise<void>;
}
