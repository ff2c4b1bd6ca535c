import { channel } from 'node:diagnostics_channel';

import type { NoticeListener, SessionNotice } from '../notice.js';

/** Name of the diagnostics channel; messages are `{ sessionId, notice }`. */
export const noticeChannelName = 'holdfast:session';

const noticeChannel = channel(noticeChannelName);

/** Hands notices to whoever observes the session, and to the diagnostics channel. */
export class Notices {
  readonly #sessionId: string;
  readonly #listeners = new Set<NoticeListener>();

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  observe(listener: NoticeListener): Disposable {
    this.#listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
      },
    };
  }

  publish(notice: SessionNotice): void {
    for (const listener of this.#listeners) {
      try {
        listener(notice);
      } catch {
        // An observer's mistake must not change what the session does.
      }
    }
    if (noticeChannel.hasSubscribers) noticeChannel.publish({ sessionId: this.#sessionId, notice });
  }
}
