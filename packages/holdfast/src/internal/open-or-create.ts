import { type SessionJournal, SessionNotFoundError, type SessionStore } from '@holdfast/journal';
import { processIdentity } from '@holdfast/lease/fs';

/** Opens a local journal for writing, making it when it is missing. */
export async function openOrCreate(
  journals: SessionStore,
  id: string,
  options: {
    readonly title: string;
    readonly wait?: boolean | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<SessionJournal> {
  const { title, wait, signal } = options;
  const owner = processIdentity();
  try {
    return await journals.open(id, { owner, wait, signal });
  } catch (error) {
    if (!SessionNotFoundError.is(error)) throw error;
    return await journals.create({ id, title, owner, signal });
  }
}
