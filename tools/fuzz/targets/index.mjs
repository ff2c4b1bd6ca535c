import { encryptedObject } from './blobs.mjs';
import { leaseFile, restoreIntent } from './disk.mjs';
import { eventBody, journalRecord, preparedEvent, refsNote, restoreRecord, summaryNote } from './journal.mjs';
import {
  archiveIndex,
  chunkList,
  damagedStore,
  frame,
  refText,
  rootObject,
  storeRecord,
  treeObject,
  zstdFrame,
} from './store.mjs';
import { archiveTail, tarImport, tarReader } from './tar.mjs';
import { commandLine, names, pathText } from './words.mjs';

/** @type {readonly import('../target.mjs').Target[]} */
export const targets = [
  tarReader,
  tarImport,
  archiveTail,
  archiveIndex,
  treeObject,
  rootObject,
  chunkList,
  frame,
  zstdFrame,
  storeRecord,
  damagedStore,
  refText,
  journalRecord,
  refsNote,
  summaryNote,
  preparedEvent,
  restoreRecord,
  eventBody,
  restoreIntent,
  leaseFile,
  encryptedObject,
  names,
  pathText,
  commandLine,
];
