import { spawn } from 'node:child_process';

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] The whole environment; the own one by default.
 * @property {'capture' | 'inherit' | 'both'} [output] What happens to the output: kept, shown, or both. Kept by default.
 * @property {number} [timeoutMs] The process is killed after this time; no limit by default.
 * @property {boolean} [group] Runs in a process group of its own, so that a time limit ends its children too.
 */

/**
 * @typedef {object} RunResult
 * @property {number} code Exit code; 128 plus the number of the signal is not computed, a killed process has code 1.
 * @property {string | undefined} signal
 * @property {string} stdout
 * @property {string} stderr
 * @property {string} output Both streams in order of arrival.
 * @property {number} durationMs
 * @property {boolean} timedOut
 */

/**
 * Runs a program to its end and never rejects because of its exit code; a program that cannot be started has code 127.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<RunResult>}
 */
export async function run(command, args, options = {}) {
  const mode = options.output ?? 'capture';
  const started = performance.now();
  return await new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', mode === 'inherit' ? 'inherit' : 'pipe', mode === 'inherit' ? 'inherit' : 'pipe'],
      // Windows finds npm's commands only through its shell.
      shell: process.platform === 'win32',
      detached: options.group === true,
    });
    let stdout = '';
    let stderr = '';
    let output = '';
    let timedOut = false;
    child.stdout?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      stdout += text;
      output += text;
      if (mode === 'both') process.stdout.write(text);
    });
    child.stderr?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      stderr += text;
      output += text;
      if (mode === 'both') process.stderr.write(text);
    });
    const timer =
      options.timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            if (options.group === true && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
            else child.kill('SIGKILL');
          }, options.timeoutMs);
    /** @param {number} code @param {string | undefined} signal */
    const finish = (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr, output, durationMs: performance.now() - started, timedOut });
    };
    child.on('error', (error) => {
      output += `${error.message}\n`;
      stderr += `${error.message}\n`;
      finish(127, undefined);
    });
    child.on('close', (code, signal) => {
      finish(code ?? 1, signal ?? undefined);
    });
  });
}
