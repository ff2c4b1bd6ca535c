import type { ServerResponse } from 'node:http';

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => escapes[char] as string);
}

/** An error as the service words it. */
export function answerError(response: ServerResponse, status: number, code: string, more: string = ''): void {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message>${more}</Error>`;
  response.writeHead(status, {
    'content-type': 'application/xml',
    'content-length': Buffer.byteLength(body),
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

export interface ListedObject {
  readonly name: string;
  readonly size: number;
  readonly modified: Date;
}

/** One page of a listing. */
export function answerListing(
  response: ServerResponse,
  objects: readonly ListedObject[],
  truncated: boolean,
): void {
  const contents = objects.map(
    ({ name, size, modified }) =>
      `<Contents><Key>${escapeXml(encodeURIComponent(name).replaceAll('%2F', '/'))}</Key>` +
      `<LastModified>${modified.toISOString()}</LastModified><Size>${size}</Size></Contents>`,
  );
  const body =
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<EncodingType>url</EncodingType><KeyCount>${objects.length}</KeyCount>` +
    `<IsTruncated>${String(truncated)}</IsTruncated>${contents.join('')}</ListBucketResult>`;
  response.writeHead(200, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
