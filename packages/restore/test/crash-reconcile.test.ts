import { reconcile } from '@holdfast/restore';

import { testCrashes } from './support/crash-tests.js';

testCrashes('reconcile', reconcile());
