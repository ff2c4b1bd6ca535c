import { readFileSync } from 'node:fs';

import {
  type CatalogueType,
  catalogueTypes,
  checkEvent,
  checkPrivate,
  checkpointTriggers,
  checkStoredEvent,
  EventInvalidError,
  isCatalogueType,
  type SessionEvent,
} from '@holdfast/journal';
import { describe, expect, expectTypeOf, it } from 'vitest';

import { checkpointBody, refOf } from './support/world.js';

const checkpoint = (more: object): never => checkpointBody(refOf(1), more);
const error = { message: 'broke', code: 'X', kind: 'y' };

/** Bodies that must pass, and bodies that must not with the rule and the path that they break. */
const table: Readonly<
  Record<
    CatalogueType,
    { readonly good: readonly unknown[]; readonly bad: readonly (readonly [unknown, string, string])[] }
  >
> = {
  SessionStarted: {
    good: [
      {},
      {
        placement: { mode: 'shared', root: '/w', store: 's' },
        seed: refOf(1),
        forkedFrom: { session: 'x', seq: 0 },
      },
    ],
    bad: [
      [{ placement: { mode: 'other', root: '/w' } }, 'field-value', 'body.placement.mode'],
      [{ placement: { mode: 'shared' } }, 'field-missing', 'body.placement.root'],
      [{ seed: 'v1:sha256:ABC' }, 'ref', 'body.seed'],
      [{ forkedFrom: { session: 'x', seq: -1 } }, 'field-value', 'body.forkedFrom.seq'],
      [[], 'field-type', 'body'],
      ['text', 'field-type', 'body'],
      [null, 'field-type', 'body'],
    ],
  },
  SessionRestored: {
    good: [{}, { interrupted: ['t1', 't2'] }],
    bad: [
      [{ interrupted: 't' }, 'field-type', 'body.interrupted'],
      [{ interrupted: ['t', 1] }, 'field-type', 'body.interrupted[1]'],
    ],
  },
  SessionStopped: { good: [{}, { reason: '' }], bad: [[{ reason: 1 }, 'field-type', 'body.reason']] },
  SessionActive: { good: [{}, { loop: 'l' }], bad: [[{ loop: '' }, 'field-value', 'body.loop']] },
  SessionIdle: { good: [{}], bad: [[{ loop: null }, 'field-type', 'body.loop']] },
  LoopStarted: {
    good: [
      { loop: 'l', name: 'n' },
      { loop: 'l', name: 'n', parent: 'p', more: [1] },
    ],
    bad: [[{ loop: 'l' }, 'field-missing', 'body.name']],
  },
  LoopIdle: { good: [{ loop: 'l' }], bad: [[{}, 'field-missing', 'body.loop']] },
  TurnStarted: {
    good: [
      { turn: 't', loop: 'l', input: null },
      { turn: 't', loop: 'l' },
    ],
    bad: [[{ turn: 1, loop: 'l' }, 'field-type', 'body.turn']],
  },
  StepDone: {
    good: [{ turn: 't', loop: 'l', step: 1, output: { any: ['thing'] } }],
    bad: [
      [{ turn: 't', loop: 'l', step: 0 }, 'field-value', 'body.step'],
      [{ turn: 't', loop: 'l', step: 1.5 }, 'field-value', 'body.step'],
    ],
  },
  TurnDone: { good: [{ turn: 't', loop: 'l' }], bad: [[{ loop: 'l' }, 'field-missing', 'body.turn']] },
  TurnFailed: {
    good: [
      { turn: 't', loop: 'l', error },
      { turn: 't', loop: 'l', error: { message: '' } },
    ],
    bad: [
      [{ turn: 't', loop: 'l' }, 'field-missing', 'body.error'],
      [{ turn: 't', loop: 'l', error: { code: 'x' } }, 'field-missing', 'body.error.message'],
    ],
  },
  TurnInterrupted: {
    good: [{ turn: 't', loop: 'l', reason: 'r' }],
    bad: [[{ turn: 't' }, 'field-missing', 'body.loop']],
  },
  WorkspaceCheckpointed: {
    good: [
      checkpoint({}),
      checkpoint({ trigger: 'idle' }),
      checkpoint({ trigger: 'idle', cause: { event: 'e' } }),
      checkpoint({ trigger: 'interrupt', cause: { turn: 't' } }),
      checkpoint({ trigger: 'turn-done', cause: { event: 'e', turn: 't', loop: 'l' } }),
      checkpoint({ trigger: 'step-done', cause: { event: 'e', step: 3 } }),
      checkpoint({ trigger: 'safety', cause: { restore: 'r' } }),
      checkpoint({ trigger: 'recovered' }),
      checkpoint({ trigger: 'seed', hold: { slot: 3 } }),
      checkpoint({
        coverage: {
          omitted: [{ path: 'a', reason: 'too-large' }],
          dropped: [{ path: 'b', what: 'xattr' }],
          raced: ['c'],
        },
      }),
    ],
    bad: [
      [checkpoint({ ref: `v1:sha256:${'A'.repeat(64)}` }), 'ref', 'body.ref'],
      [checkpoint({ ref: `v2:sha256:${'a'.repeat(64)}` }), 'ref', 'body.ref'],
      [checkpoint({ ref: `${refOf(1)}\n` }), 'ref', 'body.ref'],
      [checkpoint({ consistency: 'sharp' }), 'field-value', 'body.consistency'],
      [checkpoint({ trigger: 'other' }), 'field-value', 'body.trigger'],
      [checkpoint({ cause: { event: 'e' } }), 'field-unknown', 'body.cause'],
      [checkpoint({ trigger: 'baseline', cause: {} }), 'field-unknown', 'body.cause'],
      [checkpoint({ trigger: 'interrupt', cause: { event: 'e' } }), 'field-missing', 'body.cause.turn'],
      [checkpoint({ trigger: 'turn-done' }), 'field-missing', 'body.cause.event'],
      [checkpoint({ trigger: 'safety', cause: {} }), 'field-missing', 'body.cause.restore'],
      [checkpoint({ trigger: 'idle', cause: { step: 0 } }), 'field-value', 'body.cause.step'],
      [checkpoint({ stats: undefined }), 'field-missing', 'body.stats'],
      [checkpoint({ stats: { entries: 1 } }), 'field-missing', 'body.stats.files'],
      [
        checkpoint({ coverage: { omitted: [{}], dropped: [], raced: [] } }),
        'field-missing',
        'body.coverage.omitted[0].path',
      ],
      [
        checkpoint({ coverage: { omitted: [], dropped: [], raced: [1] } }),
        'field-type',
        'body.coverage.raced[0]',
      ],
    ],
  },
  WorkspaceCheckpointFailed: {
    good: [
      { trigger: 'idle', error },
      { trigger: 'turn-done', cause: { event: 'e' }, error, durationMs: 0.5 },
    ],
    bad: [
      [{ trigger: 'idle' }, 'field-missing', 'body.error'],
      [{ trigger: 'idle', error, durationMs: -1 }, 'field-value', 'body.durationMs'],
    ],
  },
  WorkspaceRestored: {
    good: [{ ref: refOf(1) }],
    bad: [
      [{}, 'field-missing', 'body.ref'],
      [{ ref: refOf(1), more: 1 }, 'field-unknown', 'body.more'],
      [{ ref: 7 }, 'ref', 'body.ref'],
    ],
  },
  ConversationRewound: {
    good: [{ to: 'turn-1', seq: 4 }],
    bad: [[{ to: 'turn-1' }, 'field-missing', 'body.seq']],
  },
};

describe('the event catalogue', () => {
  it.each(catalogueTypes)('%s takes its bodies and refuses others, saying where', (type) => {
    for (const body of table[type].good) {
      checkEvent(type, body as never);
      checkStoredEvent(type, body as never);
    }
    for (const [body, rule, path] of table[type].bad) {
      let failure: unknown;
      try {
        checkEvent(type, JSON.parse(JSON.stringify(body)) as never);
      } catch (caught) {
        failure = caught;
      }
      expect(EventInvalidError.is(failure)).toBe(true);
      expect(failure).toMatchObject({ eventType: type, rule, path, effect: 'none' });
    }
  });

  it('takes application events by their first letter, and no catalogue name that does not exist', () => {
    for (const type of [
      'note',
      'note-added',
      'acme.build/finished',
      'a',
      'x:y',
      'camelCase',
      'z'.repeat(128),
    ]) {
      checkEvent(type, { anything: true });
    }
    for (const [type, rule] of [
      ['Note', 'unknown-catalogue-type'],
      ['WorkspaceCheckpoint', 'unknown-catalogue-type'],
      ['', 'type-name'],
      ['1x', 'type-name'],
      ['a b', 'type-name'],
      ['ä', 'type-name'],
      ['z'.repeat(129), 'type-name'],
      ['__proto__', 'type-name'],
      [undefined, 'type-name'],
    ] as const) {
      expect(() => {
        checkEvent(type, {});
      }).toThrow(expect.objectContaining({ rule }) as Error);
    }
    expect(isCatalogueType('toString')).toBe(false);
  });

  it('reads what only a newer version knows, but not what it knows and is wrong', () => {
    checkStoredEvent('ThingOfTheFuture', { any: 1 });
    checkStoredEvent('WorkspaceRestored', { ref: refOf(1), addedLater: true });
    expect(() => {
      checkStoredEvent('WorkspaceRestored', { ref: 'x' });
    }).toThrow(EventInvalidError);
  });

  it('checks private records that it understands', () => {
    const started = { restoreId: 'r-1', ref: refOf(1), previousRef: null, strategy: 'swap' };
    checkPrivate('restore-started', started);
    checkPrivate('restore-started', {
      ...started,
      safetyRef: null,
      previousRef: refOf(2),
      planDigest: 'd',
      host: 'h',
      root: { ino: 1 },
    });
    checkPrivate('restore-prepared', {
      restoreId: 'r-1',
      exact: false,
      treeKey: 'k',
      receipt: { created: 1 },
    });
    checkPrivate('restore-aborted', { restoreId: 'r-1', reason: 'gave up' });
    checkPrivate('title', { title: '' });
    checkPrivate('anything-else', [1, 2]);
    for (const [type, body, path] of [
      ['restore-started', { ...started, ref: 'x' }, 'body.ref'],
      ['restore-started', { ...started, restoreId: '../x' }, 'body.restoreId'],
      ['restore-started', { restoreId: 'r', ref: refOf(1), strategy: 's' }, 'body.previousRef'],
      ['restore-prepared', { restoreId: 'r-1', exact: 1 }, 'body.exact'],
      ['restore-aborted', {}, 'body.restoreId'],
      ['title', { title: 5 }, 'body.title'],
      ['Title', {}, 'type'],
    ] as const) {
      expect(() => {
        checkPrivate(type, body as never);
      }).toThrow(expect.objectContaining({ path }) as Error);
    }
  });

  it('narrows bodies by type', () => {
    const show = (event: SessionEvent): string => {
      switch (event.type) {
        case 'WorkspaceRestored':
          expectTypeOf(event.body).toEqualTypeOf<{ readonly ref: string }>();
          return event.body.ref;
        case 'TurnFailed':
          return event.body.error.message;
        default:
          return event.type;
      }
    };
    expect(show({ type: 'note', body: 1 } as never)).toBe('note');
  });
});

describe('the page of the catalogue', () => {
  const page = readFileSync(new URL('../../../docs/events.md', import.meta.url), 'utf8');

  it('lists every event once, and no other', () => {
    const section = page.slice(page.indexOf('## Catalogue'), page.indexOf('### Causes'));
    const listed = [...section.matchAll(/^\| `([A-Za-z]+)` \|/gm)].map((match) => match[1]);
    expect(listed).toEqual(catalogueTypes);
  });

  it('lists every trigger', () => {
    const section = page.slice(page.indexOf('### Causes'), page.indexOf('## Private records'));
    for (const trigger of checkpointTriggers) expect(section).toContain(`\`${trigger}\``);
  });
});
