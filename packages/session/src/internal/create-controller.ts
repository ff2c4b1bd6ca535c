import { abandonOnAbort } from '@holdfast/base';

import type { SessionController } from '../controller.js';
import type { SessionRuntime } from '../runtime.js';
import type { Session } from '../session.js';
import { forkPoint, rewindPoint, undoPoint } from './points.js';

/** Makes the two views of a session: the narrow one is an object of its own that leads nowhere else. */
export function createController(runtime: SessionRuntime): SessionController {
  const session: Session = Object.freeze({
    id: runtime.id,
    submit: async (input, options = {}) => await runtime.submit(input, options),
    interrupt: async (options = {}) => {
      await runtime.interrupt(options);
    },
    events: (options = {}) => runtime.events(options),
    state: () => runtime.state(),
  } satisfies Session);
  const shutdown: SessionController['shutdown'] = async (options = {}) => {
    await abandonOnAbort(options.signal, runtime.shutdown());
  };
  return Object.freeze({
    ...session,
    session,
    checkpointWorkspace: async (options = {}) => await runtime.checkpointWorkspace(options),
    previewRestore: async (ref, options = {}) => await runtime.previewRestore(ref, options),
    restoreWorkspace: async (ref, options = {}) => await runtime.restoreWorkspace(ref, options),
    rewindTo: async (point, options = {}) => {
      runtime.requireWorkspace('rewindTo');
      const { ref, rewind } = await rewindPoint(runtime, point, options.signal);
      return await runtime.restoreWorkspace(ref, { ...options, rewind });
    },
    previewRewind: async (point, options = {}) => {
      runtime.requireWorkspace('previewRewind');
      const { ref } = await rewindPoint(runtime, point, options.signal);
      return await runtime.previewRestore(ref, options);
    },
    undo: async (options = {}) => {
      runtime.requireWorkspace('undo');
      const { ref, rewind, undoes } = await undoPoint(runtime, options.signal);
      return await runtime.restoreWorkspace(ref, { ...options, rewind, undoes });
    },
    previewUndo: async (options = {}) => {
      runtime.requireWorkspace('previewUndo');
      const { ref, undoes } = await undoPoint(runtime, options.signal);
      return await runtime.previewRestore(ref, { ...options, undoes });
    },
    fork: async (options = {}) => {
      runtime.requireWorkspace('fork');
      const { ref, seq } = await forkPoint(runtime.journal, options);
      return await runtime.parts.fork({ journal: runtime.journal, ref, seq }, options.signal);
    },
    boundary: async (kind, options = {}) => await runtime.boundary(kind, options),
    checkpoints: async (options = {}) => await runtime.checkpoints(options),
    observe: (listener) => runtime.observe(listener),
    shutdown,
    [Symbol.asyncDispose]: async () => {
      await shutdown();
    },
  } satisfies SessionController);
}
