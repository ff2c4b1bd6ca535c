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
export { prefixedHarness, secondViewHarness } from './derived-harnesses.js';
export type { BlobsHarness, BlobsLimits } from './harness.js';
export { type BlobsFaultOperation, blobsFaults, scriptedBlobsDriver } from './scripted-blobs-driver.js';
export { blobsContract, testBlobs, verifyBlobs } from './suite.js';
