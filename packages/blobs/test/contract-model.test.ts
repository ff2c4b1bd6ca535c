import { testBlobs } from '@holdfast/blobs/testing';
import { describe, it } from 'vitest';

import { modelHarness } from './support/model-harness.js';

testBlobs({ describe, it }, modelHarness());
