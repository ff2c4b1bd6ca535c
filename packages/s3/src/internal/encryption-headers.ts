import { createHash } from 'node:crypto';

import type { ServerSideEncryption } from '../options.js';

/** The parameters of a request that ask for encryption at rest. */
export interface EncryptionParameters {
  readonly write: {
    readonly ServerSideEncryption?: 'AES256' | 'aws:kms';
    readonly SSEKMSKeyId?: string;
  } & CustomerKey;
  readonly read: CustomerKey;
}

interface CustomerKey {
  readonly SSECustomerAlgorithm?: 'AES256';
  readonly SSECustomerKey?: string;
  readonly SSECustomerKeyMD5?: string;
}

/** @throws TypeError when a customer's key has not 32 bytes. */
export function encryptionParameters(encryption: ServerSideEncryption | undefined): EncryptionParameters {
  switch (encryption?.keys) {
    case undefined:
      return { write: {}, read: {} };
    case 'service':
      return { write: { ServerSideEncryption: 'AES256' }, read: {} };
    case 'kms': {
      const { keyId } = encryption;
      const named = keyId === undefined ? {} : { SSEKMSKeyId: keyId };
      return { write: { ServerSideEncryption: 'aws:kms', ...named }, read: {} };
    }
    case 'customer': {
      const key = Buffer.from(encryption.key);
      if (key.length !== 32) throw new TypeError('openS3Blobs: a customer key has 32 bytes');
      const customer = {
        SSECustomerAlgorithm: 'AES256',
        SSECustomerKey: key.toString('base64'),
        SSECustomerKeyMD5: createHash('md5').update(key).digest('base64'),
      } as const;
      return { write: customer, read: customer };
    }
  }
}
