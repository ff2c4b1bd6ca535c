// Measures how long 10,000 queued requests take to be granted and released. Build first: npx tsc -b packages/coordinator
import { Coordinator, parseCanonicalPath } from '@holdfast/coordinator';

/** @typedef {import('@holdfast/coordinator').PermitRequest} PermitRequest */

const count = 10_000;

/** @type {(name: string, requestOf: (index: number) => PermitRequest, options?: { oneByOne?: boolean }) => Promise<void>} */
async function measure(name, requestOf, { oneByOne = false } = {}) {
  const times = [];
  for (let run = 0; run < 7; run += 1) {
    const requests = Array.from({ length: count }, (_, index) => requestOf(index));
    const coordinator = new Coordinator();
    const gate = await coordinator.acquire({ operation: 'checkpoint' });
    const start = performance.now();
    const waiting = requests.map((request) => coordinator.acquire(request));
    gate.release();
    if (oneByOne) for (const permit of waiting) (await permit).release();
    else for (const permit of await Promise.all(waiting)) permit.release();
    times.push(performance.now() - start);
    if (coordinator.inspect().active.length > 0) throw new Error('permits were left behind');
  }
  times.sort((a, b) => a - b);
  process.stdout.write(`${name}: median ${times[3].toFixed(1)} ms, best ${times[0].toFixed(1)} ms\n`);
}

/** @type {(text: string) => PermitRequest} */
const path = (text) => ({ operation: 'path-mutation', path: parseCanonicalPath(text) });
await measure('disjoint paths, one directory', (index) => path(`/tree/src/file-${index}.ts`));
await measure('disjoint paths, deep', (index) => path(`/tree/a/${index % 100}/b/${index % 7}/c/${index}.ts`));
await measure('one path', () => path('/tree/src/file.ts'), { oneByOne: true });
await measure('nested paths', (index) => path(`/work${'/d'.repeat(index % 40)}`), { oneByOne: true });
await measure('global writers', () => ({ operation: 'whole-mutation' }), { oneByOne: true });
await measure(
  'alternating global writers and paths',
  (index) => (index % 2 === 0 ? { operation: 'whole-mutation' } : path(`/tree/${index}`)),
  { oneByOne: true },
);
