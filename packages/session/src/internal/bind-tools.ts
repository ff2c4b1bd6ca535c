import { ToolCallError } from '../errors.js';
import type { AnyTool, BoundTool, ToolCall, ToolContext, ToolDefinition } from '../tool.js';

/** Binds every tool of a loop once. `admit` refuses a call that the session's state forbids. */
export function bindTools(
  tools: readonly AnyTool[],
  context: ToolContext,
  admit: () => void,
): Readonly<Record<string, BoundTool<unknown>>> {
  const bound = tools.map((tool): [string, BoundTool<unknown>] => {
    const definition = tool as ToolDefinition<string, unknown>;
    return [tool.name, bindTool(definition, definition.bind(context), admit)];
  });
  return Object.freeze(Object.fromEntries(bound));
}

function bindTool(
  definition: ToolDefinition<string, unknown>,
  run: ToolCall<unknown, unknown>,
  admit: () => void,
): BoundTool<unknown> {
  return Object.freeze({
    name: definition.name,
    description: definition.description,
    inputJsonSchema: definition.inputJsonSchema,
    call: async (input: unknown, options = {}) => {
      admit();
      return await run(await checkInput(definition, input), options);
    },
  } satisfies BoundTool<unknown>);
}

async function checkInput(definition: ToolDefinition<string, unknown>, input: unknown): Promise<unknown> {
  if (definition.input === undefined) return input;
  const result = await definition.input['~standard'].validate(input);
  if (result.issues === undefined) return result.value;
  const detail = result.issues.map((issue) => issue.message).join('; ');
  throw new ToolCallError(definition.name, 'input-invalid', detail);
}
