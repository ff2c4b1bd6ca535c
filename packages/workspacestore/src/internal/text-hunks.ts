import { structuredPatch } from 'diff';

import type { TextChange, TextHunk } from '../tree-diff.js';

/**
 * Changed lines up to which the shortest way from one text to the other is looked for. It costs the square of this; texts
 * that differ by more are shown as one block that replaces another, which is as true.
 */
const maxChangedLines = 700;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Compares two contents line by line; a side without a file is empty. */
export function compareText(before: Uint8Array, after: Uint8Array, contextLines: number): TextChange {
  const [a, b] = [decodeText(before), decodeText(after)];
  if (a === undefined || b === undefined) return { kind: 'binary' };
  const patch = structuredPatch('', '', a, b, '', '', {
    context: contextLines,
    maxEditLength: maxChangedLines,
  });
  if (patch === undefined) return { kind: 'lines', hunks: [replaceMiddle(a, b, contextLines)] };
  return {
    kind: 'lines',
    hunks: patch.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
      beforeStart: oldStart,
      beforeLines: oldLines,
      afterStart: newStart,
      afterLines: newLines,
      lines,
    })),
  };
}

function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** One hunk that replaces everything between the lines that both texts begin with and those that both end with. */
function replaceMiddle(before: string, after: string, contextLines: number): TextHunk {
  const [a, b] = [splitLines(before), splitLines(after)];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const first = Math.max(0, start - contextLines);
  const behind = Math.min(end, contextLines);
  const lines = [
    ...mark(' ', a.slice(first, start)),
    ...mark('-', a.slice(start, a.length - end)),
    ...mark('+', b.slice(start, b.length - end)),
    ...mark(' ', a.slice(a.length - end, a.length - end + behind)),
  ];
  return {
    beforeStart: first + 1,
    beforeLines: a.length - end + behind - first,
    afterStart: first + 1,
    afterLines: b.length - end + behind - first,
    lines,
  };
}

/** Lines with their line feed; the last one may have none. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function mark(sign: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n') ? [sign + line.slice(0, -1)] : [sign + line, '\\ No newline at end of file'],
  );
}
