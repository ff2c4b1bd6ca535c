import { equalBytes, sha256Hex } from '@holdfast/base';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const digestLength = 64;
const newline = 0x0a;

/** Bytes that carry the digest of their own text: 64 hex digits, a newline, the text in UTF-8. */
export interface Sealed {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

/** Seals `text`, which must hold no lone surrogates. */
export function sealText(text: string): Sealed {
  const content = encoder.encode(text);
  const digest = sha256Hex(content);
  const bytes = new Uint8Array(digestLength + 1 + content.length);
  bytes.set(encoder.encode(digest));
  bytes[digestLength] = newline;
  bytes.set(content, digestLength + 1);
  return { bytes, digest };
}

/** Returns the text and its digest, or `undefined` when a single bit differs from what was sealed. */
export function unsealText(
  bytes: Uint8Array,
): { readonly text: string; readonly digest: string } | undefined {
  if (bytes.length < digestLength + 1 || bytes[digestLength] !== newline) return undefined;
  const content = bytes.subarray(digestLength + 1);
  const digest = sha256Hex(content);
  if (!equalBytes(bytes.subarray(0, digestLength), encoder.encode(digest))) return undefined;
  try {
    return { text: decoder.decode(content), digest };
  } catch {
    return undefined;
  }
}
