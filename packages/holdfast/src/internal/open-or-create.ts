import {
  SessionExistsError,
  type SessionJournal,
  SessionNotFoundError,
  type SessionStore,
} from '@holdfast/journal';
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
  const open = async (): Promise<SessionJournal> => await journals.open(id, { owner, wait, signal });
  try {
    return await open();
  } catch (error) {
    if (!SessionNotFoundError.is(error)) throw error;
  }
  try {
    return await journals.create({ id, title, owner, wait, signal });
  } catch (error) {
    // Somebody else was faster.
    if (!SessionExistsError.is(error)) throw error;
    return await open();
  }
}
