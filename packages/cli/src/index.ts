export {
  BackendModuleError,
  ConfirmationError,
  HomeError,
  NotAvailableError,
  RootArgumentError,
  SessionLiveError,
  UsageError,
} from './errors.js';
export { chooseHome } from './home.js';
export { type CommandIo, type InputStream, Interrupted, type OutputStream } from './io.js';
export { type RunOptions, runCommand } from './run.js';
export type {
  LocalCaptureOptions,
  LocalCollectOptions,
  LocalRestoreOptions,
  LocalRoot,
  LocalSnapshotOptions,
  LocalStack,
  OpenLocal,
  OpenRootOptions,
  RefHolder,
  RequiredRef,
} from './stack.js';
export { printable } from './text.js';
