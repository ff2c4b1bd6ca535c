export { FsBlobsDriver, type FsBlobsParts, type FsSweepOptions } from './fs-blobs-driver.js';
export { type FsBlobsOptions, openFsBlobs, openFsBlobsDriver } from './open-fs-blobs.js';
export type { SweepResult } from './sweep-objects.js';
