export { acquireHostLock, HostLockHeldError, type HostLockOptions } from './host-lock.js';
export type { HostReader } from './host-reader.js';
export { defaultTtl, type FsLeaserOptions, openFsLeaser } from './open-fs-leaser.js';
export {
  HostProcessTable,
  isAlive,
  type Liveness,
  type ProcessIdentity,
  type ProcessTable,
  parseProcessIdentity,
  processIdentity,
} from './process-identity.js';
