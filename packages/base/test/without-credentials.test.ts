import { withoutCredentials } from '@holdfast/base';
import { describe, expect, test } from 'vitest';

const secret = 'hunter2';

describe('what is masked', () => {
  test.each([
    // Addresses.
    ['postgres://user:hunter2@host:5432/db refused', 'postgres://***@host:5432/db refused'],
    ['postgres://user:p%40hunter2@host/db?password=hunter2', 'postgres://***@host/db?password=***'],
    ['postgres://hunter2@host', 'postgres://***@host'],
    ['postgres://user:p@hunter2@host/db', 'postgres://***@host/db'],
    ['nats://user:hunter2@h', 'nats://***@h'],
    ['nats://hunter2@h:4222', 'nats://***@h:4222'],
    ['nats://a:hunter2@h1:4222,nats://b:hunter2@h2:4222', 'nats://***@h1:4222,nats://***@h2:4222'],
    ['nats://a:hunter2@h1:4222,b:hunter2@h2:4222', 'nats://***@h2:4222'],
    ['redis://:hunter2@h', 'redis://***@h'],
    ['rediss://default:hunter2@[::1]:6379/0', 'rediss://***@[::1]:6379/0'],
    ['https://AKIA1234567890ABCDEF:ab/hunter2+c@s3.host/b', 'https://***@s3.host/b'],
    ['https://key:12/hunter2@s3.host', 'https://***@s3.host'],
    ['jdbc:postgresql://user:hunter2@host/db', 'jdbc:postgresql://***@host/db'],
    ['cannot parse "postgres://user:hunter2@host/db"', 'cannot parse "postgres://***@host/db"'],
    ["cannot parse 'postgres://user:hunter2@host/db'", "cannot parse 'postgres://***@host/db'"],
    // Passwords that break the address.
    ['postgres://user:hunter2', 'postgres://***'],
    ['postgres://user:my hunter2@host/db', 'postgres://***@host/db'],
    ['postgres://user:my"hunter2@host/db', 'postgres://***@host/db'],
    ['postgres://user:?hunter2@host/db', 'postgres://***@host/db'],
    ['postgres://user:#hunter2@host/db', 'postgres://***@host/db'],
    ['postgres://user:a://hunter2@host/db', 'postgres://***@host/db'],
    ['postgres://me@corp:my hunter2@host/db', 'postgres://***@host/db'],
    // Without a scheme.
    ['user:hunter2@host:4222 does not answer', '***@host:4222 does not answer'],
    ['user:hunter2@tcp(host:3306)/db', '***@tcp(host:3306)/db'],
    ['server="user:hunter2@host"', 'server="***@host"'],
    // Settings.
    ['host=h user=u password=hunter2 dbname=d', 'host=h user=u password=*** dbname=d'],
    ["host=h password='my hunter2' dbname=d", 'host=h password=*** dbname=d'],
    ["password='it\\'s hunter2' host=h", 'password=*** host=h'],
    ["password = 'it''s hunter2' host=h", 'password = *** host=h'],
    ['password=my\\ hunter2 host=h', 'password=*** host=h'],
    ['password="my hunter2"', 'password=***'],
    ["password='hunter2", 'password=***'],
    ['sslpassword=hunter2 sslkey=k', 'sslpassword=*** sslkey=k'],
    ['PGPASSWORD=hunter2', 'PGPASSWORD=***'],
    ['Server=h;Password=hunter2;Database=d', 'Server=h;Password=***;Database=d'],
    ['Server=h;Pwd={a;hunter2}', 'Server=h;Pwd=***'],
    ['password=a,hunter2', 'password=***'],
    ["alter role r password 'hunter2'", 'alter role r password ***'],
    ['{"password": "hunter2", "host": "h"}', '{"password": ***, "host": "h"}'],
    ['"{\\"password\\":\\"hunter2\\",\\"host\\":\\"h\\"}"', '"{\\"password\\":***,\\"host\\":\\"h\\"}"'],
    ["{ pass: 'hunter2', user: 'u' }", "{ pass: ***, user: 'u' }"],
    ['{"credentials":{"secretAccessKey":"my hunter2"}}', '{"credentials":{"secretAccessKey":***}}'],
    ['{ password => hunter2 }', '{ password => *** }'],
    ['token=hunter2, seed: "hunter2"', 'token=***, seed: ***'],
    ['Authorization: Bearer hunter2', 'Authorization: ***'],
    ['{"authorization":"Basic hunter2"}', '{"authorization":***}'],
    ['failed: password=hunter2', 'failed: password=***'],
    ['password:\n  hunter2', 'password: ***'],
    // Query strings.
    [
      'https://h/b?X-Amz-Credential=hunter2%2F1&X-Amz-Signature=hunter2&x=1',
      'https://h/b?X-Amz-Credential=***&X-Amz-Signature=***&x=1',
    ],
    ['https://h/b?AWSAccessKeyId=hunter2&Expires=1', 'https://h/b?AWSAccessKeyId=***&Expires=1'],
    ['https://h/b?sv=1&sig=hunter2%3D', 'https://h/b?sv=1&sig=***'],
    ['https://h/?api_key=hunter2', 'https://h/?api_key=***'],
    ['https://h/?access_token=hunter2#x', 'https://h/?access_token=***'],
    ['https://h/?to=x%3Fpassword%3Dhunter2', 'https://h/?to=x%3Fpassword%3D***'],
    ['postgres://h/db?user=u&password=a@hunter2', 'postgres://h/db?user=u&password=***'],
  ])('%j', (text, expected) => {
    expect(withoutCredentials(text)).toBe(expected);
  });

  test('keys that are known by their shape', () => {
    const shapes = [
      'AKIAIOSFODNN7EXAMPLE',
      `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`,
      `SU${'A'.repeat(56)}`,
      '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END',
    ];
    for (const shape of shapes) expect(withoutCredentials(`with ${shape} in it`)).toBe('with *** in it');
  });

  test('what was masked stays as it is', () => {
    for (const text of ['postgres://***@host/db?password=***', 'password=*** host=h'])
      expect(withoutCredentials(text)).toBe(text);
  });
});

test.each([
  'connect ECONNREFUSED 127.0.0.1:5432',
  'connect ECONNREFUSED ::1:5432',
  'cannot reach postgres://host:5432/db?sslmode=require',
  'cannot reach redis://localhost:6379.',
  'cannot reach nats://h1:4222,nats://h2:4222: no answer',
  'cannot reach http://[::1]:8222/varz (fetch failed)',
  'password authentication failed for user "me"',
  'relation "holdfast.record" does not exist',
  'duplicate key value violates unique constraint "ledger_name_key"',
  'no answer within 300 ms',
])('%j says nothing that is secret and stays as it is', (text) => {
  expect(withoutCredentials(text)).toBe(text);
});

describe('errors', () => {
  test('say what they and their causes say, once each', () => {
    const inner = new Error('connect to redis://:hunter2@h');
    const middle = new Error('connect to redis://:hunter2@h', { cause: inner });
    expect(withoutCredentials(new Error('not reached', { cause: middle }))).toBe(
      'not reached; connect to redis://***@h',
    );
    expect(withoutCredentials(new Error('not reached', { cause: 'password=hunter2' }))).toBe(
      'not reached; password=***',
    );
  });

  test('that gather others say what those say', () => {
    const cause = new Error('password=hunter2');
    const errors = [new Error('connect ECONNREFUSED ::1:1'), new Error('token=hunter2', { cause })];
    expect(withoutCredentials(new AggregateError(errors))).toBe(
      'connect ECONNREFUSED ::1:1; token=***; password=***',
    );
  });

  test('whose causes go round or on for long come to an end', () => {
    const round = new Error('round');
    round.cause = round;
    expect(withoutCredentials(round)).toBe('round');
    let long = new Error('0');
    for (let at = 1; at < 100; at += 1) long = new Error(String(at), { cause: long });
    expect(withoutCredentials(long)).toBe('99; 98; 97; 96; 95');
  });

  test.each([undefined, null, 7, {}, { message: 7 }, new Error(''), new Error(' \n')])(
    'without a message: %j',
    (said) => {
      expect(withoutCredentials(said)).toBe('no message');
    },
  );

  test('show only what they say, not what clients attach to them', () => {
    const error = Object.assign(new Error('refused'), {
      options: { pass: secret },
      command: ['AUTH', secret],
    });
    expect(withoutCredentials(error)).toBe('refused');
  });
});

test('the result is one line of at most 500 characters, cut after it was masked', () => {
  const text = withoutCredentials(`a\r\nb${'x'.repeat(490)} postgres://user:${secret.repeat(90)}@host`);
  expect(text).toHaveLength(500);
  expect(text).toMatch(/^a bx+ [^\n]*$/);
  expect(text).not.toContain(secret);
});

// Work that grows with the square of these would not come to an end.
test.each([
  'a://',
  'a:',
  'a@',
  'a:@',
  '://',
  '://a:',
  '://a:b ',
  ' ',
  'x',
  ',',
  ',a',
  '&password=',
  'password=',
  'password="',
  "password='",
  'password=\\"',
  'password={',
  'password=,a',
  '\\',
  '"',
  'eyJa-',
  'eyJa.',
  'AKIA',
  'SU',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY-----',
  'a.',
  '%3d',
])('a long text of %j takes linear time', (piece) => {
  const long = piece.repeat(2_000_000 / piece.length);
  expect(withoutCredentials(long).length).toBeLessThanOrEqual(500);
  expect(withoutCredentials(`password${long}`).length).toBeLessThanOrEqual(500);
  expect(withoutCredentials(`a://${long}@`).length).toBeLessThanOrEqual(500);
});
