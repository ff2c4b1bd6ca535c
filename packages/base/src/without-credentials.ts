/** Longest text that is kept, in characters. */
const mostCharacters = 500;
/** How many errors of a chain of causes are read. */
const mostErrors = 5;
const mask = '***';

/**
 * What a client said, on one line of at most 500 characters, with everything masked that may be a credential: what stands
 * before the host in addresses, the values of settings whose names tell that they are secret, and keys and tokens that are
 * known by their shape. Where it cannot be told how far a secret goes, more is masked and not less. Takes time linear in the
 * length of the text.
 * @param said Text, or an error: its message and those of its causes, each one once, joined by `; `.
 */
export function withoutCredentials(said: unknown): string {
  const texts = typeof said === 'string' ? [said] : messagesOf(said);
  const masked = new Set(texts.map((text) => masking.reduce((left, step) => step(left), text)));
  const kept = [...masked].filter((text) => text !== '' && text !== ' ');
  return (kept.length === 0 ? 'no message' : kept.join('; ')).slice(0, mostCharacters);
}

/** Settings first: what they mask cannot be taken for the host of an address. */
const masking: readonly ((text: string) => string)[] = [
  (text) => text.replace(/\s+/g, ' '),
  maskShapes,
  maskSettings,
  maskAddresses,
  maskBareAddresses,
];

/** Of an error, of its causes, and of the errors that an `AggregateError` gathers. */
function messagesOf(error: unknown): readonly string[] {
  const found: string[] = [];
  const open: unknown[] = [error];
  const seen = new Set<unknown>();
  while (open.length > 0 && seen.size < mostErrors) {
    const next = open.shift();
    if (typeof next === 'string') found.push(next);
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    const { message, cause, errors } = next as { message?: unknown; cause?: unknown; errors?: unknown };
    if (typeof message === 'string') found.push(message);
    open.push(...(Array.isArray(errors) ? (errors as unknown[]).slice(0, mostErrors) : []), cause);
  }
  return found;
}

/** Private keys, access keys of AWS, JSON web tokens and seeds of NATS, wherever they stand. */
function maskShapes(text: string): string {
  return text
    .replace(/-----BEGIN [\w ]*PRIVATE KEY-----.*?(?:-----END|$)/g, mask)
    .replace(/(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{12,}(?!\w)/g, mask)
    .replace(/(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g, mask)
    .replace(/(?<!\w)S[ACNOPUX][A-Z2-7]{48,}(?!\w)/g, mask);
}

/** Ends, without `-`, `_` and `.`, the name of a setting that is secret; or stands anywhere in it. */
const secretName =
  /(?:pass|pwd|tokens?|apikey|accesskey|accesskeyid|accountkey|privatekey|encryptionkey|nkey|seed|jwt|auth|authorization|cookie)$|^sig$|password|passwd|passphrase|passcode|secret|credential|signature/;

/** `password=`, `"password": `, `\"password\":`, `PASSWORD => `, `password%3D`, `password '`. */
const setting = /(?<![\w.-])([\w.-]+)(?:\\*["']?\s?(?:=>?|:(?!\/\/)|%3[AD])\s?|\s(?=["']))/gi;

function maskSettings(text: string): string {
  let masked = '';
  let done = 0;
  const names = new RegExp(setting);
  for (let found = names.exec(text); found !== null; found = names.exec(text)) {
    if (!secretName.test((found[1] ?? '').toLowerCase().replace(/[-_.]/g, ''))) continue;
    const from = names.lastIndex;
    const to = endOfValue(text, from);
    if (to === from) continue;
    masked += text.slice(done, from) + mask;
    done = to;
    names.lastIndex = to;
  }
  return masked + text.slice(done);
}

/** Where the value that begins at `from` ends; `from` itself when it has secrets inside and is none. */
function endOfValue(text: string, from: number): number {
  const quote = matchAt(/\\*["']/y, text, from);
  if (quote.length > 1) return endOr(text, text.indexOf(quote, from + quote.length), quote.length);
  if (quote !== '') return endOfQuoted(text, from + 1, quote);
  if (matchAt(/[{[(]\s?(?:\\*["'{[]|[\w.-]+\s?[:=])/y, text, from) !== '') return from;
  let at =
    from + matchAt(/(?:basic|bearer|digest|negotiate|token|apikey|aws4-hmac-sha256)\s/iy, text, from).length;
  while (at < text.length && text[at] !== ' ') {
    if (/[&;,]/.test(text[at] ?? '') && matchAt(/.\s?["']?[\w.-]+["']?\s?[=:]/y, text, at) !== '') break;
    at += text[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/** A backslash and a second quote keep a quoted value open. */
function endOfQuoted(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote && text[at + 1] === quote) at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return text.length;
}

function endOr(text: string, found: number, length: number): number {
  return found === -1 ? text.length : found + length;
}

/** What stands before the last `@` of an address. A password may hold `@`, `/` and `?` though it should not. */
function maskAddresses(text: string): string {
  let masked = '';
  let done = 0;
  for (let at = text.indexOf('://'); at !== -1; ) {
    const begin = at + 3;
    at = nextAddress(text, begin);
    const region = text.slice(begin, at === -1 ? text.length : schemeBegin(text, at));
    masked += text.slice(done, begin) + maskRegion(region);
    done = begin + region.length;
  }
  return masked + text.slice(done);
}

/** The `://` of the next address; one behind a scheme that follows nothing that ends an address belongs to a password. */
function nextAddress(text: string, from: number): number {
  let at = text.indexOf('://', from);
  while (at !== -1) {
    const begin = schemeBegin(text, at, from);
    if (begin > from && begin < at && /[\s"'`<>()[\]{},;|=&]/.test(text[begin - 1] ?? '')) return at;
    at = text.indexOf('://', at + 3);
  }
  return -1;
}

function schemeBegin(text: string, end: number, least: number = 0): number {
  let at = end;
  while (at > least && /[\w+.-]/.test(text[at - 1] ?? '')) at -= 1;
  return at;
}

/** @param region From behind `://` to the next address. */
function maskRegion(region: string): string {
  const run = (/^[^\s"`<>]*/.exec(region) ?? [''])[0];
  const end = run.lastIndexOf('@');
  if (!hasPassword(run.slice(end + 1))) return end === -1 ? region : mask + region.slice(end);
  // What looks like a password goes on: it has a space or a quote in it, or its end was cut off.
  const last = region.lastIndexOf('@');
  return mask + region.slice(last > end ? last : run.length);
}

/** Whether a colon in the place of the host is followed by something else than a port. */
function hasPassword(address: string): boolean {
  const hosts = (/^[^/?#]*/.exec(address) ?? [''])[0].split(',');
  return hosts.some((host) => {
    const rest = host.startsWith('[') ? host.slice(host.indexOf(']') + 1) : host;
    const colon = rest.indexOf(':');
    return colon !== -1 && !/^\d{0,5}(?!\w)\W*$/.test(rest.slice(colon + 1));
  });
}

/** `user:password@host` without a scheme. */
function maskBareAddresses(text: string): string {
  const words = text.split(' ').map((word) => {
    const [colon, end] = [word.indexOf(':'), word.lastIndexOf('@')];
    if (colon === -1 || colon > end || word.includes('://')) return word;
    const user = (/[^("'[{<=,]*$/.exec(word.slice(0, colon)) ?? [''])[0];
    return word.slice(0, colon - user.length) + mask + word.slice(end);
  });
  return words.join(' ');
}

/** What a sticky pattern finds at a place; nothing is the empty text. */
function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return (pattern.exec(text) ?? [''])[0];
}
