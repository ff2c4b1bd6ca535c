/** Everything the command touches of the process around it. The umbrella passes the real one, tests pass their own. */
export interface CommandIo {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: InputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path that relative arguments are resolved against. */
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly userHome: string;
  /** Aborted when the user interrupts; its reason is `Interrupted`. */
  readonly signal: AbortSignal;
}

export interface OutputStream {
  readonly isTerminal: boolean;
  /** Columns of the terminal; 80 where unknown. */
  readonly columns: number;
  /** Resolves when the stream has taken the bytes. */
  write(chunk: string | Uint8Array): Promise<void>;
}

export interface InputStream {
  readonly isTerminal: boolean;
  /** One line without its end, or `undefined` at the end of input. */
  readLine(): Promise<string | undefined>;
  /** Everything that comes, as bytes. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** The abort reason of an interrupted command (exit status 130). */
export class Interrupted extends Error {
  override readonly name: string = 'Interrupted';

  constructor() {
    super('interrupted');
  }
}
