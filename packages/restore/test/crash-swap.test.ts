import { swap } from '@holdfast/restore';

import { testCrashes } from './support/crash-tests.js';

testCrashes('swap', swap({ fallback: false }));
