import { onAbort, throwIfAborted } from '@holdfast/base';
import { defineTool, type ToolDefinition } from '@holdfast/session';

import { FileMissingError, SearchPatternError } from './errors.js';
import { flag, inputSchema, optional, text } from './input-schema.js';
import { LineMatcher, MatcherStopped, PatternRefused } from './internal/line-matcher.js';
import { locate } from './internal/place.js';
import { type SearchOutput, SearchRun } from './internal/search-run.js';
import { workbench } from './internal/workbench.js';
import type { WorkspaceToolsOptions } from './options.js';

export interface SearchInput {
  readonly pattern: string;
  /** `pattern` is a regular expression of JavaScript, tried on each line; default plain text. */
  readonly regex?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** File or directory to look in; default the whole workspace. */
  readonly path?: string | undefined;
  /** Only files whose names end like this. */
  readonly suffix?: string | undefined;
}

const schema = inputSchema<SearchInput>({
  pattern: text({ description: 'Text to find in a line', minLength: 1, maxLength: 1000 }),
  regex: optional(
    flag({ description: 'The pattern is a JavaScript regular expression; default plain text' }),
  ),
  ignoreCase: optional(flag({ description: 'Upper and lower case are the same' })),
  path: optional(
    text({
      description: 'File or directory, relative to the workspace; default the whole workspace',
      minLength: 1,
    }),
  ),
  suffix: optional(
    text({
      description: 'Only files whose names end like this, for example .ts',
      minLength: 1,
      maxLength: 255,
    }),
  ),
});

/**
 * Finds a pattern in the lines of text files. Bounded in time, matches and bytes, whatever the pattern: it runs in a
 * thread of its own, which is ended when the time is over; what was found until then is returned.
 *
 * Calls throw SearchPatternError, FileMissingError, WorkspacePathError.
 */
export function searchTool(
  options: WorkspaceToolsOptions = {},
): ToolDefinition<'search', SearchInput, SearchOutput> {
  return defineTool({
    name: 'search',
    description: 'Finds text or a regular expression in files and returns the lines.',
    input: schema,
    inputJsonSchema: schema.jsonSchema,
    requires: { workspace: 'read' },
    bind: (context) => {
      const bench = workbench('search', context, options);
      return async (input, { signal }) => {
        throwIfAborted(signal);
        const pattern = compile(input);
        using place = locate(bench.fileSystem, bench.workspace.root, input.path ?? '.');
        if (place.stat === undefined) throw new FileMissingError(place.path);
        await using matcher = new LineMatcher(pattern);
        using _abort = onAbort(signal, (reason) => {
          matcher.stop(reason);
        });
        using _limit = bench.clock.schedule(bench.limits.searchMs, () => {
          matcher.stop(new MatcherStopped('the time of the search is over'));
        });
        const run = new SearchRun(bench, matcher, input.suffix);
        try {
          return await run.search(place, signal);
        } catch (error) {
          throwIfAborted(signal);
          if (!(error instanceof PatternRefused)) throw error;
          throw new SearchPatternError(input.pattern, error.message, { cause: error });
        }
      };
    },
  });
}

function compile({ pattern, regex = false, ignoreCase = false }: SearchInput): RegExp {
  const flags = ignoreCase ? 'i' : '';
  if (!regex) return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'), `u${flags}`);
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch {
    // Models like to escape what needs no escape, which only the older grammar allows.
  }
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'it is no regular expression';
    throw new SearchPatternError(pattern, detail, { cause: error });
  }
}
