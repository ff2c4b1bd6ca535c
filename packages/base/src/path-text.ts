/**
 * Paths are byte strings; in the API and in JSON they are text: UTF-8 as it is, a backslash as `\\`, any byte that is
 * not part of valid UTF-8 as `\xHH`. The two functions are inverse on every byte string.
 */
export function encodePathText(bytes: Uint8Array): string {
  if (isPlainAscii(bytes)) return latin1(bytes);
  let text = '';
  let index = 0;
  while (index < bytes.length) {
    const length = utf8SequenceLength(bytes, index);
    if (length === 0) {
      text += `\\x${(bytes[index] as number).toString(16).padStart(2, '0').toUpperCase()}`;
      index += 1;
    } else {
      const part = decoder.decode(bytes.subarray(index, index + length));
      text += part === '\\' ? '\\\\' : part;
      index += length;
    }
  }
  return text;
}

/**
 * Returns the bytes that `text` stands for.
 * @throws TypeError when a backslash starts neither `\\` nor `\xHH`, or when the text holds a lone surrogate.
 */
export function decodePathText(text: string): Uint8Array {
  const parts: number[] = [];
  let plainFrom = 0;
  const flush = (to: number): void => {
    if (to > plainFrom) for (const byte of encodeUtf8(text.slice(plainFrom, to))) parts.push(byte);
  };
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] !== '\\') continue;
    flush(index);
    const escape = /^\\(?:\\|x([0-9A-Fa-f]{2}))/.exec(text.slice(index, index + 4));
    if (escape === null) {
      throw new TypeError(
        `path text ${JSON.stringify(text)}: write a backslash as \\\\ and a raw byte as \\xHH`,
      );
    }
    parts.push(escape[1] === undefined ? 0x5c : Number.parseInt(escape[1], 16));
    index += escape[0].length - 1;
    plainFrom = index + 1;
  }
  flush(text.length);
  return Uint8Array.from(parts);
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

function encodeUtf8(text: string): Uint8Array {
  if (/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text)) {
    throw new TypeError(
      `path text ${JSON.stringify(text)}: a lone surrogate is not text; write raw bytes as \\xHH`,
    );
  }
  return encoder.encode(text);
}

function isPlainAscii(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte >= 0x80 || byte === 0x5c) return false;
  return true;
}

function latin1(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** Length of the valid UTF-8 sequence at `index` (shortest form, no surrogates, at most U+10FFFF), or 0. */
function utf8SequenceLength(bytes: Uint8Array, index: number): number {
  const first = bytes[index] as number;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || index + length > bytes.length) return 0;
  const second = bytes[index + 1] as number;
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let k = 2; k < length; k += 1) {
    const byte = bytes[index + k] as number;
    if (byte < 0x80 || byte > 0xbf) return 0;
  }
  return length;
}
