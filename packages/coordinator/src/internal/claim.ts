import type { Holder, PermitRecord } from '../permit.js';
import type { CheckedRequest } from '../request.js';
import type { Place } from './scope-index.js';

/** `held-back`: waits for process admission, outside the queue. */
export type ClaimState = 'held-back' | 'queued' | 'active' | 'gone';

/** One request from its arrival to its end. */
export class Claim {
  readonly id: number;
  readonly request: CheckedRequest;
  readonly holder: Holder;
  /** Place in the queue; a request that was held back gets a new one when it is let in. */
  arrival = 0;
  /** Where the index keeps it. */
  places: readonly Place<Claim>[] = [];
  state: ClaimState = 'queued';
  /** Wall time of arrival, then of the grant. */
  since: number;
  onContended: (() => void) | undefined;
  /** Resolves when the claim was granted or refused; {@link refusal} tells which. Cancellation is looked at after it. */
  readonly decided: Promise<void>;
  refusal: { readonly reason: unknown } | undefined;
  #decide!: () => void;

  constructor(id: number, request: CheckedRequest, holder: Holder, since: number) {
    this.id = id;
    this.request = request;
    this.holder = holder;
    this.since = since;
    this.decided = new Promise<void>((resolve) => {
      this.#decide = resolve;
    });
  }

  grant(): void {
    this.#decide();
  }

  refuse(reason: unknown): void {
    this.refusal ??= { reason };
    this.#decide();
  }

  record(): PermitRecord {
    const { operation, access, group, scopes } = this.request;
    return {
      id: this.id,
      operation,
      ...(access === undefined ? {} : { access }),
      group,
      scopes,
      holder: this.holder,
      since: this.since,
    };
  }
}
