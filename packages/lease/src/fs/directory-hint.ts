import { watch } from 'node:fs';

/**
 * Calls `notify` when something in the directory may have changed. A hint only: it may come too often, late or never
 * (network file systems, exhausted watches), so whoever uses it polls as well.
 */
export function hintOnChange(path: string, notify: () => void): Disposable {
  try {
    const watcher = watch(path, { persistent: false }, notify);
    watcher.on('error', () => {
      watcher.close();
    });
    return {
      [Symbol.dispose]: () => {
        watcher.close();
      },
    };
  } catch {
    return { [Symbol.dispose]: () => undefined };
  }
}
