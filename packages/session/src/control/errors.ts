import { type ErrorFields, HoldfastError, type JsonValue, quote } from '@holdfast/base';

/** Why a session's owner cannot be reached. */
export type ControlUnavailableKind =
  | 'not-listening'
  | 'path-too-long'
  | 'not-private'
  | 'disconnected'
  | 'protocol';

/** The owner of a session cannot be reached at its socket, or did not speak the protocol. */
export class ControlUnavailableError extends HoldfastError {
  static override readonly code = 'SESSION_CONTROL_UNAVAILABLE';
  declare readonly code: 'SESSION_CONTROL_UNAVAILABLE';
  declare readonly kind: ControlUnavailableKind;
  declare readonly socket: string;

  constructor(
    kind: ControlUnavailableKind,
    socket: string,
    detail: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(`control socket ${quote(socket)} cannot be used (${kind}): ${detail}`, {
      cause: options.cause,
      fields: { kind, socket },
      effect: kind === 'disconnected' ? 'unknown' : 'none',
    });
  }
}

/** The owner of a session refused a call or failed in it; `remote` is its error as JSON. */
export class ControlCallError extends HoldfastError {
  static override readonly code = 'SESSION_CONTROL_CALL';
  declare readonly code: 'SESSION_CONTROL_CALL';
  declare readonly method: string;
  /** Code of the owner's error; empty when it had none. */
  declare readonly remoteCode: string;
  /** Kind of the owner's error, where it has one. */
  declare readonly remoteKind: string | undefined;
  declare readonly remote: Readonly<Record<string, JsonValue | undefined>>;

  constructor(method: string, remote: Readonly<Record<string, JsonValue | undefined>>) {
    const { code, kind, message } = remote;
    const fields: ErrorFields = {
      method,
      remoteCode: typeof code === 'string' ? code : '',
      remoteKind: typeof kind === 'string' ? kind : undefined,
      remote,
    };
    super(
      `${method}: the owner of the session answered: ${typeof message === 'string' ? message : 'no message'}`,
      {
        fields,
      },
    );
  }
}
