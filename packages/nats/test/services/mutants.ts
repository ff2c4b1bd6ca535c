import type { WrongDriver } from '../../../../tools/engines/wrong-drivers.mjs';

const ledger = 'ledger-driver.ts';
const leaser = 'leaser-driver.ts';
const streams = 'internal/streams.ts';
const frame = 'internal/append-frame.ts';
const record = 'internal/lease-record.ts';

export const ledgerMutants: readonly WrongDriver[] = [
  {
    mistake: 'the expected sequence is not sent',
    seenBy: ['2.5', '8.5'],
    edits: [[streams, 'expect: { lastSubjectSequence: expected },', '']],
  },
  {
    mistake: 'the expected tip is not looked at',
    seenBy: ['2.3', '2.4'],
    edits: [[ledger, 'tries <= mostTries && end.tip === expectedTip;', 'tries <= mostTries;']],
  },
  {
    mistake: 'an append goes wherever the end is',
    seenBy: ['2.3', '8.5'],
    edits: [
      [
        ledger,
        'let end = this.#tips.get(name);',
        'expectedTip = (await this.#tip(name)).tip;\n let end = this.#tips.get(name);',
      ],
    ],
  },
  {
    mistake: 'an append is acknowledged before it is stored',
    seenBy: ['2.5', '7.2'],
    edits: [
      [
        ledger,
        'return await this.#facts.streams.publish(this.#subject(name), bytes, frame.previous);',
        `this.#facts.streams.publish(this.#subject(name), bytes, frame.previous).catch(() => undefined);
         return frame.previous + 1;`,
      ],
    ],
  },
  {
    mistake: 'an append with an unknown outcome is made again behind the present end',
    seenBy: ['7.2', '7.3'],
    edits: [
      [
        ledger,
        'throw new LedgerAmbiguousError(name, expectedTip, { cause: error });',
        `await this.append(name, await this.tip(name), this.repeated, {});
         return this.#tips.get(name)?.seq;`,
      ],
      [
        ledger,
        'const { random } = this.#facts;\n    let end',
        'const { random } = this.#facts;\n    this.repeated = records;\n    let end',
      ],
      [
        ledger,
        'readonly #tips = new Map<string, Tip>();',
        'readonly #tips = new Map<string, Tip>();\n  repeated: readonly Uint8Array[] = [];',
      ],
    ],
  },
  {
    mistake: 'an append with an unknown outcome that landed is called a conflict',
    seenBy: ['7.2', '7.3'],
    edits: [
      [
        ledger,
        'throw new LedgerAmbiguousError(name, expectedTip, { cause: error });',
        'throw new LedgerConflictError(name, expectedTip);',
      ],
    ],
  },
  {
    mistake: 'an unknown outcome is called a definite failure',
    seenBy: ['7.2'],
    edits: [
      [
        'internal/request-failure.ts',
        'const definite = isNamed(error, nobodyThere);',
        'const definite = true;',
      ],
    ],
  },
  {
    mistake: 'a read begins one record too late',
    seenBy: ['3.2', '3.8'],
    edits: [
      [
        ledger,
        'let wanted = range.reverse ? range.to : range.from;',
        'let wanted = range.reverse ? range.to : range.from + 1;',
      ],
    ],
  },
  {
    mistake: 'a read passes over every second append',
    seenBy: ['3.9'],
    edits: [[ledger, 'this.#subject(name), message.seq + 1);', 'this.#subject(name), message.seq + 2);']],
  },
  {
    mistake: 'the tip is remembered and not asked for again',
    seenBy: ['8.5'],
    edits: [
      [
        ledger,
        'return (await this.#tip(name)).tip;',
        'return (this.#tips.get(name) ?? (await this.#tip(name))).tip;',
      ],
    ],
  },
  {
    mistake: 'what is heard is the only thing that a follower goes by',
    seenBy: ['5.2'],
    edits: [
      [
        ledger,
        'await wait.until(pause > 1 ? pause : pollMilliseconds, options.signal);',
        'await wait.until(2_000_000_000, options.signal);',
      ],
    ],
  },
  {
    mistake: 'a prefix is taken for a pattern',
    seenBy: ['4.2'],
    edits: [[ledger, 'one.startsWith(prefix)', 'new RegExp(`^${prefix}`).test(one)']],
  },
  {
    mistake: 'names are in the order of the server',
    seenBy: ['4.2'],
    edits: [
      [
        ledger,
        'names.filter((one) => one.startsWith(prefix)).sort()',
        'names.filter((one) => one.startsWith(prefix))',
      ],
    ],
  },
  {
    mistake: 'a dot in a name divides the subject',
    seenBy: ['4.2'],
    edits: [['internal/subjects.ts', "return name.replaceAll('.', '=');", 'return name;']],
  },
  {
    mistake: 'a deletion takes every ledger with it',
    seenBy: ['4.4'],
    edits: [
      [
        ledger,
        'await streams.purge(stream, this.#subject(name));',
        "await streams.purge(stream, this.#subject('*'));",
      ],
    ],
  },
  {
    mistake: 'a deletion leaves large content behind',
    seenBy: ['appends that race deletions leave nothing behind'],
    edits: [[ledger, 'await streams.purge(stream, `${this.#partSubject(name, generation)}.*.*`);', '']],
  },
  {
    mistake: 'a read whose ledger was deleted ends after a part',
    seenBy: ['4.7'],
    edits: [
      [ledger, 'await this.#end(name, range.to, wanted, generation);', 'if (wanted !== range.from) return;'],
    ],
  },
  {
    mistake: 'large content loses a byte at the end of each message',
    seenBy: ['2.9'],
    edits: [
      [
        ledger,
        'content.subarray(at * room, (at + 1) * room)',
        'content.subarray(at * room, (at + 1) * room - 1)',
      ],
    ],
  },
  {
    mistake: 'records are stored as text',
    seenBy: ['2.8'],
    edits: [
      [
        frame,
        '...(facts.parts === undefined ? records : [])',
        '...(facts.parts === undefined ? records : []).map((one) => new TextEncoder().encode(new TextDecoder().decode(one)))',
      ],
    ],
  },
  {
    mistake: 'digests are not compared',
    seenBy: ['7.5'],
    edits: [
      [frame, 'return equalBytes(digest, digestOf(seq, record)) ? record : undefined;', 'return record;'],
    ],
  },
];

export const leaserMutants: readonly WrongDriver[] = [
  {
    mistake: 'whoever stores a lease has it',
    seenBy: ['2.6', '2.7'],
    edits: [[streams, 'expect: { lastSubjectSequence: expected },', '']],
  },
  {
    mistake: 'whoever asks stores a lease behind that of the holder',
    seenBy: ['2.2', '2.3'],
    edits: [
      [
        leaser,
        'if (present !== undefined && !present.record.released) throw heldBy(name, present.record);',
        '',
      ],
    ],
  },
  {
    mistake: 'a lease runs out by the clock of who asks for it',
    seenBy: ['2.3'],
    edits: [
      [
        record,
        'return encoder.encode(JSON.stringify({ v: 1, ...record }));',
        'return encoder.encode(JSON.stringify({ v: 1, ...record }));\n}\nexport function writtenAt(bytes: Uint8Array): number {\n  return Number(parse(bytes)["at"]);',
      ],
      [
        record,
        'return { nonce, epoch, owner: isOwner',
        'return { at: writtenAt(bytes), nonce, epoch, owner: isOwner',
      ],
      [
        leaser,
        'return await this.#facts.streams.publish(this.#leaseSubject(name), encodeRecord(record), after);',
        'const dated = { ...record, at: this.#facts.clock.now() };\n return await this.#facts.streams.publish(this.#leaseSubject(name), encodeRecord(dated), after);',
      ],
      [
        leaser,
        'if (present !== undefined && !present.record.released) throw',
        'if (present !== undefined && !present.record.released && (present.record as any).at + this.#facts.ttlMilliseconds > clock.now()) throw',
      ],
    ],
  },
  {
    mistake: 'an epoch is granted again',
    seenBy: ['3.1', '3.2', '5.9'],
    edits: [
      [leaser, 'Math.max(counter?.epoch ?? 0, above) + 1;', 'Math.max(counter?.epoch ?? 1, above + 1);'],
    ],
  },
  {
    mistake: 'the counter is not raised',
    seenBy: ['3.1', '3.2'],
    edits: [
      [
        leaser,
        'if (await this.#raise(name, { epoch, nonce }, counter?.seq ?? 0)) return { epoch, seq };',
        'if (tries > 0) return { epoch, seq };',
      ],
    ],
  },
  {
    mistake: 'the least epoch is not looked at',
    seenBy: ['3.4', '3.5'],
    edits: [[leaser, 'Math.max(counter?.epoch ?? 0, above) + 1;', '(counter?.epoch ?? 0) + 1;']],
  },
  {
    mistake: 'a least epoch lowers the counter',
    seenBy: ['3.5'],
    edits: [
      [
        leaser,
        'Math.max(counter?.epoch ?? 0, above) + 1;',
        '(above > 0 ? above : (counter?.epoch ?? 0)) + 1;',
      ],
    ],
  },
  {
    mistake: 'epochs are 32 bits long',
    seenBy: ['3.6'],
    edits: [
      [
        leaser,
        'Math.max(counter?.epoch ?? 0, above) + 1;',
        'Math.fround(Math.max(counter?.epoch ?? 0, above) + 1);',
      ],
    ],
  },
  {
    mistake: 'a holder that was overtaken stores its lease behind that of the next one',
    seenBy: ['4.6', '5.4'],
    edits: [[leaser, "if (found.record.nonce !== nonce || found.record.released) return 'taken-over';", '']],
  },
  {
    mistake: 'a holder that was overtaken believes that it stands',
    seenBy: ['5.4'],
    edits: [
      [
        leaser,
        'extend: async () => await behind(record),',
        "extend: async () => ((await behind(record)) === 'stands' ? 'stands' : 'stands'),",
      ],
    ],
  },
  {
    mistake: 'a release is not recognised',
    seenBy: ['4.1', '6.3'],
    edits: [
      [
        leaser,
        'if (present !== undefined && !present.record.released) throw',
        'if (present !== undefined) throw',
      ],
    ],
  },
  {
    mistake: 'a renewal does not prolong anything',
    seenBy: ['a lease is kept for as long as its holder renews it, by the clock of the server'],
    edits: [
      [
        leaser,
        'extend: async () => await behind(record),',
        "extend: async () => ((await this.#lease(name))?.record.nonce === nonce ? 'stands' : 'taken-over'),",
      ],
    ],
  },
  {
    mistake: 'a renewal that fails counts as one that succeeded',
    seenBy: ['5.2', '5.7', 'a holder that is cut off knows before others can get the name, by real clocks'],
    edits: [
      [
        leaser,
        'extend: async () => await behind(record),',
        "extend: async () => await behind(record).catch(() => 'stands' as const),",
      ],
    ],
  },
  {
    mistake: 'a refusal does not say who has the name',
    seenBy: ['2.4'],
    edits: [
      [
        leaser,
        'return new LeaseHeldError(name, record.epoch, record.owner);',
        'return new LeaseHeldError(name, record.epoch);',
      ],
    ],
  },
  {
    mistake: 'what is heard is the only thing that a waiter goes by',
    seenBy: ['6.3', '6.8'],
    edits: [
      [
        leaser,
        'await wait.until(pollMilliseconds, options.signal);',
        'await wait.until(2_000_000_000 + pollMilliseconds, options.signal);',
      ],
    ],
  },
  {
    mistake: 'an attempt that was aborted keeps what it was granted',
    seenBy: ['7.2'],
    edits: [[leaser, 'await grant.release().catch(() => undefined);\n', '']],
  },
];
