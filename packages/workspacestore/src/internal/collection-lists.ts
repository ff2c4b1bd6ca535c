import { UnsupportedFormatError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { openSealedText, sealText } from './sealed-text.js';

const listFormat = 'holdfast-collection-list/1';
const decisionFormat = 'holdfast-collection-decision/1';

/** Writes the names of a collection, sorted, one a line, below a line with the format. */
export function encodeCollectionList(keys: readonly string[]): Uint8Array {
  return sealText([listFormat, ...[...keys].sort()]);
}

export function decodeCollectionList(bytes: Uint8Array, where: string): string[] {
  const [format, ...keys] = openSealedText(bytes);
  if (format !== listFormat) throw new UnsupportedFormatError(String(format), where);
  return keys;
}

/** What a collection decided: to delete the list with this SHA-256, or nothing. */
export type Decision = { readonly go: string } | 'abort';

export function encodeDecision(decision: Decision): Uint8Array {
  return sealText([decisionFormat, decision === 'abort' ? 'abort' : `go ${decision.go}`]);
}

export function decodeDecision(bytes: Uint8Array, where: string): Decision {
  const [format, line, ...rest] = openSealedText(bytes);
  if (format !== decisionFormat) throw new UnsupportedFormatError(String(format), where);
  if (line === 'abort' && rest.length === 0) return 'abort';
  const go = /^go ([0-9a-f]{64})$/.exec(line ?? '');
  if (go === null || rest.length > 0) throw new FormatFault('no decision');
  return { go: go[1] as string };
}
