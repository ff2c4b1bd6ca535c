import type { RuntimeWorkspace } from '../runtime-parts.js';
import { CheckpointRunner, type RunnerHost } from './checkpoint-runner.js';
import { type RestoreHost, RestoreRunner } from './restore-runner.js';

/** A session's workspace with those who checkpoint and restore it. */
export interface ManagedWorkspace {
  readonly workspace: RuntimeWorkspace;
  readonly runner: CheckpointRunner;
  readonly restorer: RestoreRunner;
}

/** What both need of the session. */
export type ManagedHost = Omit<RunnerHost, 'workspace' | 'policy'> &
  Pick<RestoreHost, 'random' | 'forgetObservations' | 'phaseChanged'>;

/** Puts a session's workspace into the hands of a checkpoint runner and a restore runner. */
export function manageWorkspace(workspace: RuntimeWorkspace, host: ManagedHost): ManagedWorkspace {
  const runner = new CheckpointRunner({ ...host, workspace, policy: workspace.policy });
  const restorer = new RestoreRunner({
    ...host,
    workspace,
    runner,
    owner: workspace.owner,
    hostName: workspace.hostName,
    hostLock: workspace.hostLock,
    rootIdentity: () => workspace.rootIdentity(),
    retakeRoot: () => {
      workspace.retakeRoot();
    },
  });
  return { workspace, runner, restorer };
}
