import { controlService, serviceNames } from './control.mjs';

/**
 * Before each file of tests: every server of the run serves. One that a test of the file before left dead would make all
 * that come later fail, and hide which one it was.
 */
for (const service of serviceNames()) await controlService(service, 'restart');
