/** What holds for every statement of a storage. */
export interface WriteSettings {
  /** How long the server lets a statement wait for a lock, as it wants it written: `5000ms`. */
  readonly lockTimeout: string;
  /** Commits are on the disk when they are acknowledged, whatever the session says. */
  readonly synchronous: boolean;
  /** Appends are announced to who listens. */
  readonly tell: boolean;
  /** How long to wait before looking again when no news came, in milliseconds. */
  readonly pollMilliseconds: number;
}
