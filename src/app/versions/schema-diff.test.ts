import { expect, test } from 'vitest'
import type { ToolDefinition } from '../../core/tool.ts'
import { compareDefinitions } from './schema-diff.ts'

const text = { type: 'string' }
const object = (properties: object, required: readonly string[] = [], more: object = {}) =>
  ({ type: 'object', properties, required, ...more }) as ToolDefinition['parameters']

const tool = (parameters: ToolDefinition['parameters'], more: object = {}): ToolDefinition => ({
  name: 'greet',
  description: 'Greets.',
  parameters,
  implementation: { type: 'mock' },
  ...more,
})

const breaking = (...changes: ReturnType<typeof compareDefinitions>) =>
  changes.filter((one) => one.breaking).map(({ change }) => change)

const city = tool(object({ city: text }, ['city']))

test.each<[string, ToolDefinition, ToolDefinition]>([
  [
    'a renamed parameter',
    city,
    tool(object({ place: text }, ['place']), { migrate: [{ from: '1.0.0', rename: { city: 'place' } }] }),
  ],
  [
    'migrations in two steps, in any order',
    city,
    tool(object({ spot: text }, ['spot']), {
      migrate: [
        { from: '2.0.0', rename: { place: 'spot' } },
        { from: '1.0.0', rename: { city: 'place' } },
      ],
    }),
  ],
  [
    'a default with a required parameter that is renamed',
    city,
    tool(object({ place: text, unit: text }, ['place', 'unit']), {
      migrate: [{ from: '1.0.0', rename: { city: 'place' }, defaults: { unit: 'celsius' } }],
    }),
  ],
  ['a wider type', tool(object({ n: { type: 'integer' } })), tool(object({ n: { type: 'number' } }))],
  ['a removed pattern', tool(object({ n: { ...text, pattern: 'a' } })), tool(object({ n: text }))],
])('%s is not breaking', (_what, before, after) => {
  expect(breaking(...compareDefinitions(before, after))).toEqual([])
})

test.each<[string, ToolDefinition, ToolDefinition, string]>([
  [
    // Calls keep a parameter that the newer version declares.
    'a rename of a parameter that stays',
    city,
    tool(object({ city: text, place: text }, ['place']), { migrate: [{ from: '1.0.0', rename: { city: 'place' } }] }),
    'place was added, and is required',
  ],
  [
    'a default of a migration that not every call needs',
    tool(object({ city: text })),
    tool(object({ place: text, unit: text }, ['unit']), {
      migrate: [{ from: '1.0.0', rename: { city: 'place' }, defaults: { unit: 'celsius' } }],
    }),
    'unit was added, and is required',
  ],
  [
    'removed pattern properties',
    tool(object({}, [], { patternProperties: { '^x': {} }, additionalProperties: false })),
    tool(object({}, [], { additionalProperties: false })),
    'The parameters: patternProperties was removed',
  ],
  [
    'removed parts of a closed schema',
    tool(object({}, [], { allOf: [{ properties: { a: text } }], unevaluatedProperties: false })),
    tool(object({}, [], { unevaluatedProperties: false })),
    'The parameters: allOf was removed',
  ],
  [
    'another approval rule',
    { ...city, approval: { when: { required: ['a'] } } },
    { ...city, approval: true },
    'The approval rule changed',
  ],
])('%s is breaking', (_what, before, after, change) => {
  expect(breaking(...compareDefinitions(before, after))).toEqual([change])
})
