import { parseRef } from '@holdfast/workspacestore';

import { applyEdit, editType } from './edits.mjs';

/**
 * Rebuilds the directory of a session somewhere else: the last snapshot that the journal names, then the edits after it.
 * Reads the journal without owning the session.
 *
 * @param {Awaited<ReturnType<typeof import('./stack.mjs').openStack>>} stack
 * @param {string} id
 * @param {string} destination Missing or empty.
 * @returns {Promise<{ ref: string | undefined, replayed: number }>}
 */
export async function replay(stack, id, destination) {
  const view = await stack.sessions.read(id);
  try {
    const last = view.fold.currentWorkspace;
    if (last !== undefined) await stack.store.materialize(parseRef(last.ref), destination);
    let replayed = 0;
    for await (const event of view.events({ from: (last?.seq ?? 0) + 1 })) {
      if (event.type !== editType) continue;
      applyEdit(destination, /** @type {import('./edits.mjs').Edit} */ (event.body));
      replayed += 1;
    }
    return { ref: last?.ref, replayed };
  } finally {
    await view.close();
  }
}
