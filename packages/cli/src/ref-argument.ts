import type { Ref } from '@holdfast/workspacestore';

import type { LocalStack } from './stack.js';

/**
 * Finds the snapshot that REF names: a whole ref, or a unique prefix of at least 8 hex digits (with or without the
 * `v1:sha256:` in front).
 */
export async function resolveRef(stack: LocalStack, text: string): Promise<Ref> {
  return await stack.store.resolve(text);
}
