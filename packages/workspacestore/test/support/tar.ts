/** Makes tar files byte by byte, right or wrong, as a test wants them. */

export interface BlockOptions {
  readonly name: string;
  readonly type?: string;
  readonly mode?: number;
  readonly modeField?: string;
  readonly link?: string;
  readonly prefix?: string;
  readonly magic?: string;
  readonly sizeField?: string | Uint8Array;
  readonly timeField?: Uint8Array;
  readonly checksum?: string;
  /** Sum the bytes as signed ones, as some old programs did. */
  readonly signed?: boolean;
}

/** A header block and its content. */
export function block(options: BlockOptions, content: string | Uint8Array = ''): Uint8Array {
  const body = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(options.name, 0, 100);
  header.write(
    options.modeField ?? `${(options.mode ?? 0o644).toString(8).padStart(7, '0')}\0`,
    100,
    'latin1',
  );
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  put(header, options.sizeField ?? `${body.length.toString(8).padStart(11, '0')}\0`, 124);
  put(header, options.timeField ?? '00000000000\0', 136);
  header.write(options.type ?? '0', 156, 'latin1');
  header.write(options.link ?? '', 157, 100);
  header.write(options.magic ?? 'ustar\u000000', 257, 'latin1');
  header.write(options.prefix ?? '', 345, 155);
  header.write('        ', 148);
  const sum = header.reduce(
    (total, byte) => total + (options.signed === true && byte > 127 ? byte - 256 : byte),
    0,
  );
  header.write(options.checksum ?? `${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

export function file(name: string, content: string, options: Partial<BlockOptions> = {}): Uint8Array {
  return block({ name, ...options }, content);
}

export function symlink(name: string, link: string): Uint8Array {
  return block({ name, type: '2', link });
}

type Records =
  | Readonly<Record<string, string | Uint8Array>>
  | readonly (readonly [string, string])[]
  | Uint8Array;

/** An extended header: of the next entry, or a global one. */
export function pax(records: Records, type: 'x' | 'g' = 'x'): Uint8Array {
  if (records instanceof Uint8Array) return block({ name: 'pax', type }, records);
  const list = (Array.isArray(records) ? records : Object.entries(records)) as readonly [
    string,
    string | Uint8Array,
  ][];
  return block({ name: 'pax', type }, Buffer.concat(list.map(([key, value]) => record(key, value))));
}

function record(key: string, value: string | Uint8Array): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length += 1;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function put(header: Buffer, value: string | Uint8Array, at: number): void {
  header.set(typeof value === 'string' ? Buffer.from(value, 'latin1') : value, at);
}

/** The end marker. */
export const end: Uint8Array = Buffer.alloc(1024);

export function tar(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
