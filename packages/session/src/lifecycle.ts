import type { SessionFault } from './fault.js';

/** Where a session stands. */
export type SessionPhase = 'idle' | 'active' | 'restoring' | 'closing' | 'closed';

/** What `state()` tells about one loop. */
export interface LoopState {
  readonly loop: string;
  readonly name: string;
  /** The running turn. */
  readonly turn: string | undefined;
  /** Inputs that wait for their turn. */
  readonly queued: number;
}

/** What a session is doing. */
export interface SessionState {
  readonly phase: SessionPhase;
  readonly fault: SessionFault | undefined;
  readonly loops: readonly LoopState[];
}
