import type { JsonValue } from '@holdfast/base';
import { textOf } from '@holdfast/base';
import type { SessionEvent } from '@holdfast/journal';
import { WorkspaceRestoreError } from '@holdfast/restore';
import type { Ref } from '@holdfast/workspacestore';

import type { SessionRuntime } from '../runtime.js';
import type { ControlHandler } from './control-server.js';
import {
  type ControlMethod,
  type ControlMethods,
  controlProtocol,
  type EventsPage,
  type RemoteRestoreOptions,
} from './protocol.js';

const defaultPage = 500;
const maxPage = 5000;

type Handlers = {
  readonly [Method in ControlMethod]: (
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ) => Promise<ControlMethods[Method]['result']>;
};

/** Answers other processes of the same user in the name of a session's owner. */
export function controlHandler(runtime: SessionRuntime): ControlHandler {
  const { controller } = runtime;
  const handlers: Handlers = {
    describe: async () =>
      await Promise.resolve({
        protocol: controlProtocol,
        sessionId: runtime.id,
        pid: process.pid,
        phase: runtime.phase,
        fault: runtime.faults.fault?.reason ?? null,
        root: runtime.parts.workspace?.root ?? null,
      }),
    events: async (params, signal) => await eventsPage(runtime, params, signal),
    checkpoints: async (_params, signal) => await controller.checkpoints({ signal }),
    checkpoint: async (_params, signal) => await controller.checkpointWorkspace({ signal }),
    preview: async ({ ref, options }, signal) =>
      await controller.previewRestore(ref as Ref, { ...previewOptions(options), signal }),
    restore: async ({ ref, options }, signal) =>
      await controller.restoreWorkspace(ref as Ref, { ...restoreOptions(options), signal }),
    rewind: async ({ point, options }, signal) =>
      await controller.rewindTo(textOf(point), { ...restoreOptions(options), signal }),
    previewRewind: async ({ point, options }, signal) =>
      await controller.previewRewind(textOf(point), { ...previewOptions(options), signal }),
    previewUndo: async ({ options }, signal) =>
      await controller.previewUndo({ ...previewOptions(options), signal }),
    undo: async ({ options }, signal) => await controller.undo({ ...restoreOptions(options), signal }),
    interrupt: async ({ reason }, signal) => {
      await controller.interrupt({ reason: typeof reason === 'string' ? reason : undefined, signal });
      return null;
    },
    refs: async (_params, signal) => {
      const needed = await runtime.journal.neededRefs({ signal });
      return needed.map(({ ref }) => ref);
    },
  };
  return async (method, params, signal) => {
    if (!Object.hasOwn(handlers, method)) throw new TypeError(`unknown method ${JSON.stringify(method)}`);
    const given = (typeof params === 'object' && params !== null ? params : {}) as Record<string, unknown>;
    return toJson(await handlers[method as ControlMethod](given, signal));
  };
}

async function eventsPage(
  runtime: SessionRuntime,
  params: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<EventsPage> {
  const from = typeof params['from'] === 'number' ? params['from'] : 1;
  const asked = typeof params['limit'] === 'number' ? params['limit'] : defaultPage;
  const limit = Math.max(1, Math.min(maxPage, Math.floor(asked)));
  const events: SessionEvent[] = [];
  for await (const event of runtime.journal.events({ from, signal })) {
    if (events.length === limit) return { events, next: event.seq };
    events.push(event);
  }
  return { events, next: null };
}

/** Takes the members that may come from outside; what they hold is checked where it is used. */
function previewOptions(options: unknown): RemoteRestoreOptions {
  if (typeof options !== 'object' || options === null) return {};
  const { paths, prune, onConflict, force } = options as RemoteRestoreOptions;
  for (const list of [paths, force]) {
    if (list !== undefined && !(Array.isArray(list) && list.every((path) => typeof path === 'string'))) {
      throw new WorkspaceRestoreError('path-escape', 'paths and force are lists of path texts');
    }
  }
  return { paths, prune, onConflict, force };
}

function restoreOptions(options: unknown): RemoteRestoreOptions {
  if (typeof options !== 'object' || options === null) return {};
  const { plan, safety, drain, timeout, verify } = options as RemoteRestoreOptions;
  return { ...previewOptions(options), plan, safety, drain, timeout, verify };
}

function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
