import {
  type EditOutput,
  type InputSchema,
  type ListOutput,
  type ReadOutput,
  type SearchOutput,
  type ShellOutput,
  type WriteOutput,
  workspaceTools,
} from '@holdfast/agent-tools';
import type { JsonValue } from '@holdfast/base';
import { describe, expect, expectTypeOf, it } from 'vitest';

const tools = new Map(workspaceTools().map((tool) => [tool.name as string, tool]));

function schemaOf(name: string): InputSchema<unknown> {
  return tools.get(name)?.input as unknown as InputSchema<unknown>;
}

describe('the output of every tool', () => {
  it('is a JSON value for the compiler too, so that a turn can return it', () => {
    type Output = ReadOutput | WriteOutput | EditOutput | ListOutput | SearchOutput | ShellOutput;
    expectTypeOf<Output>().toExtend<JsonValue>();
    expect(tools.size).toBe(6);
  });
});

describe('the input of every tool', () => {
  it.each([...tools.keys()])('%s is a Standard Schema and a Standard JSON Schema', (name) => {
    const schema = schemaOf(name);
    const standard = schema['~standard'];
    expect(standard).toMatchObject({ version: 1, vendor: 'holdfast' });
    for (const target of ['draft-2020-12', 'draft-07', 'openapi-3.0']) {
      expect(standard.jsonSchema.input({ target })).toEqual(tools.get(name)?.inputJsonSchema);
      expect(standard.jsonSchema.output({ target })).toEqual(schema.jsonSchema);
    }
    expect(() => standard.jsonSchema.input({ target: 'draft-03' })).toThrow(TypeError);
    expect(schema.jsonSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(tools.get(name)?.description).toMatch(/\.$/);
  });

  it('is described as it is checked', () => {
    expect(schemaOf('read').jsonSchema).toMatchInlineSnapshot(`
      {
        "additionalProperties": false,
        "properties": {
          "line": {
            "description": "First line to read, from 1; default 1",
            "maximum": 1000000000,
            "minimum": 1,
            "type": "integer",
          },
          "lines": {
            "description": "Number of lines; default as many as fit",
            "maximum": 1000000000,
            "minimum": 1,
            "type": "integer",
          },
          "path": {
            "description": "Path of the file, relative to the workspace",
            "minLength": 1,
            "type": "string",
          },
        },
        "required": [
          "path",
        ],
        "type": "object",
      }
    `);
  });
});

it.each([
  ['read', { path: 'a' }, undefined],
  ['read', { path: 'a', line: 1, lines: undefined }, undefined],
  ['read', undefined, 'must be an object'],
  ['read', [], 'must be an object'],
  ['read', { path: 1 }, 'path must be a string'],
  ['read', { path: '' }, 'path must have at least 1 characters'],
  ['read', { path: '\ud800' }, 'path must be well-formed Unicode'],
  ['read', { path: 'a', line: 0 }, 'line must be a whole number from 1 to 1000000000'],
  ['read', { path: 'a', line: 1.5 }, 'line must be a whole number from 1 to 1000000000'],
  ['read', { path: 'a', line: '1' }, 'line must be a whole number from 1 to 1000000000'],
  ['write', { path: 'a' }, 'content is missing'],
  ['search', { pattern: 'a', regex: 'yes' }, 'regex must be true or false'],
  ['search', { pattern: 'a'.repeat(1001) }, 'pattern must have at most 1000 characters'],
  ['list', {}, undefined],
  ['list', { constructor: 1 }, 'constructor is not known'],
  ['shell', { command: 'ls', timeoutMs: 600_001 }, 'timeoutMs must be a whole number from 1 to 600000'],
])('%s with %j: %s', (name, value, message) => {
  const result = schemaOf(name)['~standard'].validate(value);
  expect(result.issues?.map((issue) => issue.message).join('; ')).toBe(message);
  if (message === undefined) expect((result as { value: unknown }).value).toEqual(value);
});
