import { type Fault, FaultFileSystem } from './fault-file-system.js';
import { ModelFileSystem, type ModelOptions } from './model/model-file-system.js';

export interface FaultScenario {
  readonly model?: ModelOptions | undefined;
  /** Makes the disk as it is before, anew for every fault. */
  setup?(fileSystem: ModelFileSystem): unknown;
  run(fileSystem: FaultFileSystem): unknown;
  /** Throws when the outcome is not acceptable: `error` is what `run` threw, if it did. */
  check(fileSystem: ModelFileSystem, outcome: { readonly error: unknown; readonly fault: Fault }): unknown;
}

export interface ExploreFaultsOptions {
  /** Codes to fail with; default `EIO`, `ENOSPC`. */
  readonly errnos?: readonly string[] | undefined;
  /** Which calls fail in turn; default `any-change`. */
  readonly operation?: Fault['operation'] | undefined;
  readonly times?: Fault['times'];
  readonly when?: Fault['when'];
}

/**
 * Runs a protocol again and again on the model, failing its first call, then its second, and so on until a run has no
 * call left to fail. Returns the number of faults; a failed check is thrown with the fault in its message.
 */
export async function exploreFaults(
  scenario: FaultScenario,
  options: ExploreFaultsOptions = {},
): Promise<number> {
  let faults = 0;
  for (const errno of options.errnos ?? ['EIO', 'ENOSPC']) {
    for (let nth = 1; ; nth += 1) {
      const { operation = 'any-change', times, when } = options;
      const fault: Fault = { operation, nth, errno, times, when };
      if (!(await withFault(scenario, fault))) break;
      faults += 1;
    }
  }
  return faults;
}

async function withFault(scenario: FaultScenario, fault: Fault): Promise<boolean> {
  const disk = new ModelFileSystem(scenario.model);
  await scenario.setup?.(disk);
  disk.settle();
  const fileSystem = new FaultFileSystem(disk, [fault]);
  let error: unknown;
  try {
    await scenario.run(fileSystem);
  } catch (thrown) {
    error = thrown;
  }
  if (fileSystem.fired === 0) {
    if (error !== undefined) throw error;
    return false;
  }
  try {
    await scenario.check(disk, { error, fault });
  } catch (cause) {
    throw new Error(`check failed after fault ${JSON.stringify(fault)}: ${String(cause)}`, { cause });
  }
  return true;
}
