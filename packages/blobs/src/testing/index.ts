export {
  chunked,
  collect,
  edgeSizes,
  failing,
  freshBytes,
  lying,
  type PausedSource,
  pausing,
  reusing,
} from './content.js';
export type { BlobsHarness, BlobsLimits } from './harness.js';
export { blobsContract, testBlobs, verifyBlobs } from './suite.js';
