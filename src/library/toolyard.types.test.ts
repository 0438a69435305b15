import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { RunAnswer } from '../chat/run.ts'
import type { JsonSchema, Params } from '../core/tool.ts'
import type { ToolResult } from '../core/tool-result.ts'
import { createToolyard } from './configured.ts'
import { type ToolContext, tool } from './tool.ts'

// Most of this file is checked by the compiler: wrong use stands under @ts-expect-error.

const zodTool = tool({
  name: 'zod_tool',
  description: 'A tool.',
  input: z.object({
    city: z.string(),
    days: z.number().default(3),
    at: z.string().transform((text) => new Date(text)),
  }),
  execute(input, context) {
    expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; at: Date }>()
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
    expectTypeOf(context.user).toEqualTypeOf<string | undefined>()
    expectTypeOf(context.app).toEqualTypeOf<unknown>()
    expectTypeOf(context.call<number>('other', {})).resolves.toEqualTypeOf<ToolResult<number>>()
    return { days: input.days }
  },
})

const valibotTool = tool({
  name: 'valibot_tool',
  description: 'A tool.',
  input: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
  async execute(input) {
    expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
    return input.city.length
  },
})

const arktypeTool = tool({
  name: 'arktype_tool',
  description: 'A tool.',
  input: type({ city: 'string', 'unit?': '"c" | "f"' }),
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<{ city: string; unit?: 'c' | 'f' }>()
    return input.unit ?? 'c'
  },
})

const jsonTool = tool({
  name: 'json_tool',
  description: 'A tool.',
  input: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['c', 'f'], default: 'c' } },
    required: ['city'],
    additionalProperties: false,
  },
  output: z.object({ degrees: z.number() }),
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<{ city: string; unit: 'c' | 'f' }>()
    return { degrees: input.unit === 'c' ? 20 : 68 }
  },
})

interface App {
  readonly db: { find(id: number): string }
}

const appTool = tool({
  name: 'app_tool',
  description: 'A tool.',
  input: z.object({ id: z.number() }),
  execute: ({ id }, { app }: ToolContext<App>) => app.db.find(id),
})

const wide: JsonSchema & { readonly type: 'object' } = { type: 'object' }
const wideTool = tool({
  name: 'wide_tool',
  description: 'A tool.',
  input: wide,
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<Params>()
    return null
  },
})

test('infers inputs and results by the name of a tool', async () => {
  await using yard = await createToolyard({ tools: [zodTool, valibotTool, arktypeTool, jsonTool, wideTool] })
  const days = await yard.call('zod_tool', { city: 'Oslo', at: '2026-01-01' })
  expectTypeOf(days).toEqualTypeOf<ToolResult<{ days: number }>>()
  expect(days).toMatchObject({ success: true, result: { days: 3 } })
  expectTypeOf(yard.call('valibot_tool', { city: 'Oslo' })).resolves.toEqualTypeOf<ToolResult<number>>()
  expectTypeOf(yard.call('arktype_tool', { city: 'Oslo' })).resolves.toEqualTypeOf<ToolResult<'c' | 'f'>>()
  expectTypeOf(yard.call('json_tool', { city: 'Oslo' })).resolves.toEqualTypeOf<ToolResult<{ degrees: number }>>()
  await yard.call('wide_tool', { anything: 1 })
  // @ts-expect-error: city is a string
  await yard.call('zod_tool', { city: 7, at: '2026-01-01' })
  // @ts-expect-error: callers pass the input of the transform, not its output
  await yard.call('zod_tool', { city: 'Oslo', at: new Date() })
  // @ts-expect-error: there is no such unit
  await yard.call('arktype_tool', { city: 'Oslo', unit: 'k' })
  // @ts-expect-error: the schema has additionalProperties: false
  await yard.call('json_tool', { city: 'Oslo', town: 'Oslo' })
  // @ts-expect-error: there is no such tool
  await yard.call('zod_tol', {})
  const asked = { model: 'none', prompt: 'Hi' }
  const typed = () => yard.run({ ...asked, output: z.object({ at: z.string().transform((text) => new Date(text)) }) })
  expectTypeOf<Awaited<ReturnType<typeof typed>>['output']>().toEqualTypeOf<{ at: Date } | undefined>()
  const json = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const literal = () => yard.stream({ ...asked, output: { ...json, additionalProperties: false } }).answer
  expectTypeOf<Awaited<ReturnType<typeof literal>>['output']>().toEqualTypeOf<{ city: string } | undefined>()
  const plain = () => yard.run(asked)
  expectTypeOf<Awaited<ReturnType<typeof plain>>>().toEqualTypeOf<RunAnswer>()
  // @ts-expect-error: there is no such tool
  await yard.run({ model: 'none', prompt: 'Hi', tools: ['zod_tol'] }).catch(() => {})
})

test('types results as the JSON that callers get', async () => {
  interface Row {
    readonly id: number
    readonly at: Date
    readonly tags?: readonly string[]
    readonly link: URL | undefined
  }
  const row: Row = { id: 1, at: new Date(0), link: undefined }
  const dates = tool({ name: 'dates', description: 'A tool.', input: wide, execute: () => [row] })
  const nothing = tool({ name: 'nothing', description: 'A tool.', input: wide, execute: () => {} })
  const loose = tool({ name: 'loose', description: 'A tool.', input: wide, execute: (): unknown => 1 })
  await using yard = await createToolyard({ tools: [dates, nothing, loose] })
  const rows = await yard.call('dates', {})
  expectTypeOf(rows).toEqualTypeOf<
    ToolResult<
      {
        readonly id: number
        readonly at: string
        readonly tags?: readonly string[]
        readonly link: string | undefined
      }[]
    >
  >()
  expect(rows).toMatchObject({ result: [{ id: 1, at: '1970-01-01T00:00:00.000Z' }] })
  expectTypeOf(yard.call('nothing', {})).resolves.toEqualTypeOf<ToolResult<null>>()
  expectTypeOf(yard.call('loose', {})).resolves.toEqualTypeOf<ToolResult>()
})

test('allows other names if there is a configuration, and still checks the known ones', async () => {
  await using yard = await createToolyard({ tools: [zodTool], config: {} })
  expectTypeOf(yard.call('anything', { a: 1 })).resolves.toEqualTypeOf<ToolResult>()
  // @ts-expect-error: city is a string
  await yard.call('zod_tool', { city: 7, at: '2026-01-01' })
})

test('requires the app that a tool needs', async () => {
  const app: App = { db: { find: (id) => `row ${id}` } }
  await using yard = await createToolyard({ tools: [zodTool, appTool] })
  const row = await yard.call('app_tool', { id: 1 }, { app })
  expectTypeOf(row).toEqualTypeOf<ToolResult<string>>()
  expect(row).toMatchObject({ result: 'row 1' })
  // @ts-expect-error: app is missing
  expect(await yard.call('app_tool', { id: 1 })).toMatchObject({ success: false })
  // @ts-expect-error: app is another type
  await yard.call('app_tool', { id: 1 }, { app: { db: 1 } })
})

test('createToolyard<App>() types app without the names', async () => {
  const app: App = { db: { find: (id) => `row ${id}` } }
  const tools = [appTool] as const
  await using yard = await createToolyard<App>({ tools })
  expectTypeOf(yard.call('app_tool', { id: 1 }, { app })).resolves.toEqualTypeOf<ToolResult>()
  await using named = await createToolyard<App, typeof tools>({ tools })
  expectTypeOf(named.call('app_tool', { id: 1 }, { app })).resolves.toEqualTypeOf<ToolResult<string>>()
})

test('refuses a result that does not fit the output', () => {
  tool({
    name: 'wrong',
    description: 'A tool.',
    input: { type: 'object' },
    output: z.object({ degrees: z.number() }),
    // @ts-expect-error: degrees is a number
    execute: () => ({ degrees: 'hot' }),
  })
})

test('takes a schema of type any', () => {
  // biome-ignore lint/suspicious/noExplicitAny: as a library without types returns it.
  const input: any = { type: 'object' }
  tool({ name: 'any', description: 'A tool.', input, execute: (given) => expectTypeOf(given).toEqualTypeOf<Params>() })
})

test('refuses an input that is no schema', () => {
  // @ts-expect-error: a shape isn't a schema
  expect(() => tool({ name: 'shape', description: 'A tool.', input: { city: z.string() }, execute: () => 1 })).toThrow()
})
