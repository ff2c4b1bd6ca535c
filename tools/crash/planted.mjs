/**
 * Mistakes in protocols as a whole, one at a time. Each must be found by the promise of its subject: `crash.test.ts`.
 * @type {readonly (readonly [subject: string, mistake: string, mutation: import('@holdfast/durable/testing').Mutation])[]}
 */
export const planted = [
  ['blob put', 'no bytes are made durable', { kind: 'drop', operation: 'sync', nth: 'every' }],
  ['blob put', 'every sync is late', { kind: 'delay', operation: 'sync', nth: 'every' }],
  [
    'ledger append',
    'a record is acknowledged before its name is durable',
    { kind: 'drop', operation: 'sync', pathEnd: '/ledger/log', nth: 2 },
  ],
  [
    'ledger append',
    'the next process relies on a name that a dead one did not make durable',
    { kind: 'drop', operation: 'sync', pathEnd: '/ledger/log', nth: 1 },
  ],
  [
    'ledger append',
    'a name is given before its bytes are durable',
    { kind: 'delay', operation: 'sync', nth: 4 },
  ],
  ['lease on a disk', 'epochs are not made durable', { kind: 'drop', operation: 'sync', nth: 'every' }],
  ['capture', 'archives are not made durable', { kind: 'drop', operation: 'sync', nth: 'every' }],
  [
    'restore by reconcile',
    'the intent is not made durable',
    { kind: 'drop', operation: 'sync', pathEnd: '/intent', nth: 'every' },
  ],
  [
    'restore by reconcile',
    'the root is not made durable',
    { kind: 'drop', operation: 'sync', pathEnd: '/root', nth: 'every' },
  ],
  [
    'restore by swap',
    'the new root is not made durable',
    { kind: 'drop', operation: 'sync', pathEnd: '/base', nth: 'every' },
  ],
  [
    'recovery of a restore',
    'what was taken back is not made durable',
    { kind: 'drop', operation: 'sync', nth: 'every' },
  ],
  ['collection and merge', 'nothing is made durable', { kind: 'drop', operation: 'sync', nth: 'every' }],
  ['session open', 'no record is made durable', { kind: 'drop', operation: 'sync', nth: 'every' }],
];
