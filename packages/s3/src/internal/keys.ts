/** Name of the object metadata that holds the hex SHA-256 of the content. */
export const digestName = 'holdfast-sha256';

/** Where the probe's objects lie: no legal key starts with a dot, so no listing shows them. */
export const probeDirectory = '.holdfast-probe/';

const prefixPattern = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)*$/;
const longestPrefix = 500;

/** Checks the prefix of a store and returns what is put before its keys. @throws TypeError when it is not one. */
export function keyPrefix(prefix: string | undefined): string {
  if (prefix === undefined || prefix === '') return '';
  if (!prefixPattern.test(prefix) || prefix.length > longestPrefix) {
    throw new TypeError(
      `openS3Blobs: prefix must be segments of letters, digits, "_", "." and "-" joined by "/", not ${JSON.stringify(prefix)}`,
    );
  }
  return `${prefix}/`;
}
