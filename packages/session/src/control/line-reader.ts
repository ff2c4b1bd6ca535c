import type { Socket } from 'node:net';

import { maxLineBytes } from './protocol.js';

/** Splits what comes from a socket into lines and parses each as JSON; what is too long or no JSON ends the socket. */
export function readLines(
  socket: Socket,
  onValue: (value: unknown) => void,
  onBroken: (why: string) => void,
): void {
  let parts: Buffer[] = [];
  let length = 0;
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8');
      parts = [];
      length = 0;
      rest = rest.subarray(end + 1);
      const value = parseLine(line);
      if (value === undefined) {
        onBroken('a line is not JSON');
        return;
      }
      onValue(value.parsed);
    }
    length += rest.length;
    if (length > maxLineBytes) onBroken('a line is too long');
    else if (rest.length > 0) parts.push(rest);
  });
}

function parseLine(line: string): { readonly parsed: unknown } | undefined {
  try {
    return { parsed: JSON.parse(line) };
  } catch {
    return undefined;
  }
}
