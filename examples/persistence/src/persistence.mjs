#!/usr/bin/env node
import { replay } from './replay.mjs';
/**
 * node persistence.mjs work HOME ROOT            works until it is killed, one line of JSON for each edit
 * node persistence.mjs replay HOME DESTINATION   rebuilds what it had done
 */
import { openStack } from './stack.mjs';
import { work } from './work.mjs';

const [command, home, directory] = process.argv.slice(2);
const id = 'persistence';

/** Edits without end, always the same ones. */
function* script() {
  for (let number = 1; ; number += 1) {
    yield {
      path: `chapter-${number % 7}/page-${number % 11}.md`,
      text: `edit ${number}\n`.repeat(number % 5),
    };
    if (number % 6 === 0)
      yield { path: `chapter-${(number + 3) % 7}/page-${(number + 4) % 11}.md`, text: null };
  }
}

if (home === undefined || directory === undefined || (command !== 'work' && command !== 'replay')) {
  console.error('usage: persistence.mjs work HOME ROOT | replay HOME DESTINATION');
  process.exitCode = 2;
} else {
  const stack = await openStack(home);
  if (command === 'work') {
    const onEdit = (/** @type {object} */ edit, /** @type {number} */ done) => {
      process.stdout.write(`${JSON.stringify({ done, edit })}\n`);
    };
    await work(stack, directory, script(), { id, snapshotEvery: 10, onEdit });
  } else {
    console.log(JSON.stringify(await replay(stack, id, directory)));
  }
  await stack.close();
}
