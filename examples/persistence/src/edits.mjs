import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The type of the events that say what was done to the files. */
export const editType = /** @type {const} */ ('persistence.edit');

/** @typedef {{ path: string, text: string | null }} Edit `null` deletes. */

/**
 * Does one edit. Doing it again changes nothing: an edit that the journal has may have been done already.
 * @param {string} root
 * @param {Edit} edit
 */
export function applyEdit(root, { path: name, text }) {
  const file = path.join(root, name);
  if (text === null) return rmSync(file, { force: true });
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
