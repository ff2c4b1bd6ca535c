import { createHmac, hkdfSync } from 'node:crypto';

/** Bytes of a key of the caller's, and of every key made from it. */
export const keyBytes: number = 32;

/** Bytes of a key check: enough to know a key by, useless to find it. */
export const checkBytes: number = 16;

const purposes = {
  content: 'holdfast/blob-encryption/1 content',
  object: 'holdfast/blob-encryption/1 object',
  check: 'holdfast/blob-encryption/1 check',
  names: 'holdfast/blob-encryption/1 names',
} as const;

/** A caller's key, as the keys that are made from it. */
export interface EncryptionKey {
  readonly id: string;
  /** Tells whether another key has the same id. */
  readonly check: Buffer;
  /** Identifies a content: the same for the same name and content, random for everybody without the key. */
  identify(parts: readonly Uint8Array[]): Buffer;
  /** The key of one object, which no other object has. */
  objectKey(identity: Uint8Array): Buffer;
}

function derive(key: Uint8Array, salt: Uint8Array, purpose: keyof typeof purposes, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, purposes[purpose], length));
}

const noSalt = new Uint8Array(0);

/** @throws TypeError for an id or a key of the wrong form. The message names the id, never the key. */
export function encryptionKey(id: string, key: Uint8Array): EncryptionKey {
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(id)) {
    throw new TypeError(
      `encryptionLayer: a key id is 1 to 64 letters, digits, "_", "." and "-", not ${JSON.stringify(id)}`,
    );
  }
  const owned = ownKey(key, `key ${id}`);
  const content = derive(owned, noSalt, 'content', keyBytes);
  return {
    id,
    check: derive(owned, noSalt, 'check', checkBytes),
    identify: (parts) => {
      const hmac = createHmac('sha256', content);
      for (const part of parts) hmac.update(part);
      return hmac.digest();
    },
    objectKey: (identity) => derive(owned, identity, 'object', keyBytes),
  };
}

/** The key that names are hidden with. */
export function nameKeyOf(key: Uint8Array): Buffer {
  return derive(ownKey(key, 'nameKey'), noSalt, 'names', keyBytes);
}

function ownKey(key: Uint8Array, what: string): Buffer {
  if (!(key instanceof Uint8Array) || key.length !== keyBytes) {
    throw new TypeError(`encryptionLayer: ${what} must be ${keyBytes} random bytes`);
  }
  return Buffer.from(key);
}
