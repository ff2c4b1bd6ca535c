import { homedir } from 'node:os';
import { createInterface } from 'node:readline/promises';

import { type CommandIo, type InputStream, Interrupted, type OutputStream } from '@holdfast/cli';

/**
 * The real process as the command sees it. The first SIGINT or SIGTERM asks the command to stop cleanly; a second one
 * ends the process at once, as impatient people expect.
 */
export function processIo(): CommandIo & Disposable {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort(new Interrupted());
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return {
    stdout: outputStream(process.stdout),
    stderr: outputStream(process.stderr),
    stdin: standardInput(),
    env: process.env,
    cwd: process.cwd(),
    platform: process.platform,
    userHome: homedir(),
    signal: controller.signal,
    [Symbol.dispose]: () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
    },
  };
}

function outputStream(stream: NodeJS.WriteStream): OutputStream {
  // The failure of a write reaches its callback below; without a listener the event would end the process.
  stream.on('error', () => undefined);
  return {
    isTerminal: stream.isTTY,
    columns: stream.columns ?? 80,
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stream.write(chunk, (error) => {
          // A reader that went away (`holdfast ls … | head`) is not a failure of the command.
          if (error === undefined || error === null || (error as NodeJS.ErrnoException).code === 'EPIPE')
            resolve();
          else reject(error);
        });
      }),
  };
}

function standardInput(): InputStream {
  return {
    isTerminal: process.stdin.isTTY,
    chunks: () => process.stdin,
    readLine: async () => {
      const reader = createInterface({ input: process.stdin });
      try {
        for await (const line of reader) return line;
        return undefined;
      } finally {
        reader.close();
      }
    },
  };
}
