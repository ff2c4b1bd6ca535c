import type { CheckpointReport } from '../session-access.js';
import { bytesText, countText, durationText, pathText, printable } from '../text.js';

/** What a capture read, stored and left out, for people; without an end of line. */
export function captureText({ stats, coverage }: Pick<CheckpointReport, 'stats' | 'coverage'>): string {
  const lines = [
    `${countText(stats.entries, 'entry', 'entries')}, ${countText(stats.files, 'file')}, ${bytesText(stats.bytes)}; ` +
      `read ${countText(stats.filesRead, 'file')} (${bytesText(stats.bytesRead)}), ` +
      `stored ${bytesText(stats.bytesStored)} in ${durationText(stats.durationMs)}`,
  ];
  for (const { path, reason } of coverage.omitted)
    lines.push(`not captured (${printable(reason)}): ${pathText(path)}`);
  for (const { path, what } of coverage.dropped)
    lines.push(`metadata not captured (${printable(what)}): ${pathText(path)}`);
  for (const path of coverage.raced) lines.push(`changed while being read: ${pathText(path)}`);
  return lines.join('\n');
}
