import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import type { openS3Blobs } from '@holdfast/s3';

/** One mistake in the sources of the driver. */
export interface S3Mutant {
  readonly mistake: string;
  /** Who notices: opening, a clause of the contract's suite, or the questions of `honesty.ts`. */
  readonly seenBy: 'probe' | 'honesty' | `${number}.${number}`;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const mutants: readonly S3Mutant[] = [
  {
    mistake: 'puts without a condition',
    seenBy: 'probe',
    file: 'internal/objects.ts',
    from: "IfNoneMatch: '*',",
    to: '',
  },
  {
    mistake: 'puts without a condition, and nobody probes',
    seenBy: '2.3',
    file: 'internal/objects.ts',
    from: "IfNoneMatch: '*',",
    to: '',
  },
  {
    mistake: 'takes whatever has the key for its own object',
    seenBy: '2.4',
    file: 's3-blobs-driver.ts',
    from: "if (verdict === 'different') throw new BlobConflictError(key);",
    to: "if (verdict === 'different') return { created: false };",
  },
  {
    mistake: 'compares sizes only when the key is taken',
    seenBy: '2.4',
    file: 's3-blobs-driver.ts',
    from: "return sha256 === upload.sha256 ? 'same' : 'different';",
    to: "return 'same';",
  },
  {
    mistake: 'acknowledges before the answer is there',
    seenBy: '2.1',
    file: 's3-blobs-driver.ts',
    from: 'for (let attempt = 1; ; attempt += 1) {',
    to: 'this.#create(key, upload, signal).catch(() => undefined);\n if (upload.size >= 0) return { created: true };\n for (let attempt = 1; ; attempt += 1) {',
  },
  {
    mistake: 'does not compare what it read with the stored digest',
    seenBy: 'honesty',
    file: 'internal/download.ts',
    from: 'if (hash !== undefined && toHex(hash.digest()) !== sha256) {',
    to: "if (hash !== undefined && toHex(hash.digest()) === '') {",
  },
  {
    mistake: 'asks for no range and hands out the whole object',
    seenBy: '3.3',
    file: 'internal/objects.ts',
    from: '...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` }),',
    to: '...(range === undefined ? {} : { Range: `bytes=${range.start}-` }),',
  },
  {
    mistake: 'takes the end of a range for inclusive',
    seenBy: '3.3',
    file: 'internal/objects.ts',
    from: 'Range: `bytes=${range.start}-${range.end - 1}`',
    to: 'Range: `bytes=${range.start}-${range.end}`',
  },
  {
    mistake: 'takes the size of an answer for that of the object',
    seenBy: '2.1',
    file: 'internal/objects.ts',
    from: 'const size = total ?? output.ContentLength;',
    to: 'const size = output.ContentLength ?? total;',
  },
  {
    mistake: 'takes a range beyond the end for absence',
    seenBy: '3.4',
    file: 'internal/objects.ts',
    from: "if (range !== undefined && isBeyondTheEnd(error)) return 'beyond';",
    to: "if (range !== undefined && isBeyondTheEnd(error)) return 'absent';",
  },
  {
    mistake: 'lists the first page only',
    seenBy: '5.3',
    file: 'internal/objects.ts',
    from: 'if (page.IsTruncated !== true) return;',
    to: 'if (page.IsTruncated !== undefined) return;',
  },
  {
    mistake: 'hides the last key of a page',
    seenBy: '1.1',
    file: 'internal/objects.ts',
    from: 'of page.Contents ?? []) {',
    to: 'of (page.Contents ?? []).slice(0, -1)) {',
  },
  {
    mistake: 'lists keys with the prefix of the store in them',
    seenBy: '1.1',
    file: 's3-blobs-driver.ts',
    from: 'key: entry.key.slice(own.length)',
    to: 'key: entry.key.slice(own.length * 0)',
  },
  {
    mistake: 'ends a put by its abort after the last byte was sent',
    seenBy: 'honesty',
    file: 'internal/objects.ts',
    from: 'if (!body.complete()) exchange?.end();',
    to: 'exchange?.end();',
  },
  {
    mistake: 'takes the end of a connection for the end of an object',
    seenBy: 'honesty',
    file: 'internal/download.ts',
    from: "throw readFailure('GetObject', raw, { sent: true, timedOut: false }).error;",
    to: 'return;',
  },
  {
    mistake: 'takes an internal error for success of a delete',
    seenBy: 'honesty',
    file: 's3-blobs-driver.ts',
    from: 'await this.#objects.remove(this.#nameOf(key));',
    to: 'await this.#objects.remove(this.#nameOf(key)).catch(() => undefined);',
  },
  {
    mistake: 'takes an internal error for success of a put',
    seenBy: 'honesty',
    file: 'internal/objects.ts',
    from: "if (failure.status === 412) return { kind: 'taken' };",
    to: "if (failure.status === 412) return { kind: 'taken' };\n if (failure.status === 500) return { kind: 'created', encrypted: false };",
  },
  {
    mistake: 'repeats requests whose outcome it does not know',
    seenBy: 'honesty',
    file: 'internal/wire.ts',
    from: 'const output = await run(this.#client, exchange);',
    to: 'const output = await run(this.#client, exchange).catch(async () => await run(this.#client, exchange));',
  },
  {
    mistake: 'takes every 404 for absence',
    seenBy: 'honesty',
    file: 'internal/objects.ts',
    from: "return status === 404 && reason === 'NoSuchKey';",
    to: 'return status === 404 && reason !== undefined;',
  },
  {
    mistake: 'says that nothing was stored when the answer was lost',
    seenBy: 'honesty',
    file: 'internal/failure.ts',
    from: 'return fail(kind, true, connecting);',
    to: 'return fail(kind, true, true);',
  },
  {
    mistake: 'says that nothing was done when a gateway answers 502',
    seenBy: 'honesty',
    file: 'internal/failure.ts',
    from: "if (status >= 500) return fail('refused', true, false);",
    to: "if (status >= 500) return fail('refused', true, true);",
  },
];

/** The clauses of the suite that notice one of them. */
export function clausesOf(some: readonly S3Mutant[]): string[] {
  return some.map(({ seenBy }) => seenBy).filter((seenBy) => seenBy !== 'probe' && seenBy !== 'honesty');
}

const home = fileURLToPath(new URL('../../', import.meta.url));

/** The driver with the mistake in it, or as it is. Its sources are a copy, which `[Symbol.dispose]` removes. */
export async function openMutant(
  mutant: S3Mutant | undefined,
): Promise<Disposable & { readonly openS3Blobs: typeof openS3Blobs }> {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-s3-mutant-'));
  cpSync(path.join(home, 'src'), path.join(directory, 'src'), { recursive: true });
  symlinkSync(path.join(home, 'node_modules'), path.join(directory, 'node_modules'));
  if (mutant !== undefined) {
    const file = path.join(directory, 'src', mutant.file);
    const [before, after, ...more] = readFileSync(file, 'utf8').split(mutant.from);
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`${mutant.mistake}: there is not one ${JSON.stringify(mutant.from)} in ${mutant.file}`);
    writeFileSync(file, before + mutant.to + after);
  }
  const entry = pathToFileURL(path.join(directory, 'src', 'index.ts')).href;
  const module = (await import(/* @vite-ignore */ entry)) as { readonly openS3Blobs: typeof openS3Blobs };
  return {
    openS3Blobs: module.openS3Blobs,
    [Symbol.dispose]: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
