import { prefixedHarness, secondViewHarness, testBlobs } from '@holdfast/blobs/testing';
import { describe, it } from 'vitest';

import { memoryHarness } from './support/memory-harness.js';

testBlobs({ describe, it }, memoryHarness());
testBlobs({ describe, it }, prefixedHarness(memoryHarness()));
testBlobs({ describe, it }, secondViewHarness(memoryHarness()));
