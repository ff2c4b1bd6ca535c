import type { Ref } from '@holdfast/workspacestore';

import { UsageError } from './errors.js';
import type { SessionAccess } from './session-access.js';
import type { LocalStack } from './stack.js';

/**
 * Finds the snapshot that REF names: a whole ref, or a unique prefix of at least 8 hex digits (with or without the
 * `v1:sha256:` in front).
 */
export async function resolveRef(stack: LocalStack, text: string): Promise<Ref> {
  return await stack.store.resolve(text);
}

/**
 * The same for a session, which also has `@last` (its newest checkpoint) and `@prev` (the newest one that differs from
 * it). Safety checkpoints do not count: a restore that was refused must not change what they mean.
 */
export async function resolveSessionRef(
  stack: LocalStack,
  access: SessionAccess,
  text: string,
): Promise<Ref> {
  if (!text.startsWith('@')) return await resolveRef(stack, text);
  if (text !== '@last' && text !== '@prev') throw new UsageError(`${text}: write @last, @prev or a ref`);
  const refs = (await access.checkpoints())
    .filter(({ trigger }) => trigger !== 'safety')
    .map(({ ref }) => ref)
    .reverse();
  const found = text === '@last' ? refs[0] : refs.find((ref) => ref !== refs[0]);
  if (found === undefined) throw new UsageError(`${text}: the session has no such checkpoint`);
  return found;
}
