import { encodePathText, type JsonValue } from '@holdfast/base';
import type { ContentKey, LiveSignature } from '@holdfast/workspacestore';

import {
  damaged,
  decodedText,
  decodeSignature,
  encodeSignature,
  matching,
  members,
  safePath,
  wholeNumber,
} from './intent-codec.js';
import { keyPath, pathKey } from './path-key.js';

/** How what stood at a path can come back. */
export interface SecuredNode {
  /** The operation's number; names the undo copy. */
  readonly number: number;
  /** `link`: a second name of the old inode. `copy`: its bytes. `text`: a symlink's target. `absent`: nothing stood there. */
  readonly how: 'link' | 'copy' | 'text' | 'absent';
  /** The live node after it was secured; absent with `absent`. */
  readonly signature?: LiveSignature | undefined;
  /** Whether the inode had no other name before it was secured. */
  readonly soleName: boolean;
  readonly content?: ContentKey | undefined;
  readonly target?: Uint8Array | undefined;
}

/** A directory whose mode keeps its owner from changing it, and that mode. */
export interface LockedDirectory {
  /** A key: the path as Latin-1 text. */
  readonly key: string;
  readonly mode: number;
}

/** What `secure` of the reconciling strategy leaves for `commit` and `undo`. */
export interface ReconcileState {
  readonly secured: readonly SecuredNode[];
  readonly locked: readonly LockedDirectory[];
}

export function encodeReconcileState(state: ReconcileState): JsonValue {
  return {
    secured: state.secured.map(({ number, how, signature, soleName, content, target }) => ({
      number,
      how,
      soleName,
      content,
      target: target === undefined ? undefined : encodePathText(target),
      signature: encodeSignature(signature),
    })),
    locked: state.locked.map(({ key, mode }) => ({ path: encodePathText(keyPath(key)), mode })),
  };
}

/** @throws RestoreIntentError for anything that this package cannot have written. */
export function decodeReconcileState(value: JsonValue): ReconcileState {
  const { secured, locked } = members(value);
  if (!Array.isArray(secured) || !Array.isArray(locked)) throw damaged('the undo table is no list');
  return {
    secured: secured.map((item): SecuredNode => {
      const record = members(item);
      const { content, target, signature } = record;
      return {
        number: wholeNumber(record['number'], 'undo number'),
        how: matching(record['how'], /^(link|copy|text|absent)$/, 'undo kind') as SecuredNode['how'],
        soleName: record['soleName'] === true,
        content:
          content === undefined ? undefined : (matching(content, /^[0-9a-f]{64}$/, 'content') as ContentKey),
        target: target === undefined ? undefined : decodedText(target),
        signature: decodeSignature(signature),
      };
    }),
    locked: locked.map((item): LockedDirectory => {
      const record = members(item);
      return {
        key: pathKey(safePath(record['path'], true)),
        mode: wholeNumber(record['mode'], 'mode') & 0o7777,
      };
    }),
  };
}
