#!/usr/bin/env node
/**
 * Installs the servers that the service tests need, where that can be done: on Debian, as root. Elsewhere it says what is
 * missing and ends with an error.
 */
import { run } from '../shared/process.mjs';
import { services } from './registry.mjs';

const absent = Object.entries(services).filter(([, service]) => service.missing() !== undefined);
for (const [name, service] of absent)
  console.log(
    `${name}: ${service.missing()} is missing (Debian packages: ${service.debianPackages.join(' ')})`,
  );
if (absent.length === 0) {
  console.log('every server is installed');
} else if (process.getuid?.() !== 0) {
  console.log('only root can install them');
  process.exitCode = 1;
} else {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const packages = absent.flatMap(([, service]) => service.debianPackages);
  for (const args of [
    ['update', '-q'],
    ['install', '-q', '-y', '--no-install-recommends', ...packages],
  ]) {
    console.log(`apt-get ${args.join(' ')}`);
    const { code } = await run('apt-get', args, { env, output: 'inherit' });
    if (code !== 0) {
      process.exitCode = 1;
      break;
    }
  }
}
