import { heapInUse } from '../heap.ts'
import { median } from '../statistics.ts'
import { toolyard } from '../toolyard.ts'
import { handler } from '../weather.ts'

export interface RegisteringOptions {
  readonly tools: number
  readonly compiled: number
}

export interface RegisteringResult {
  readonly tools: number
  readonly compiled: number
  readonly schemaBytes: number
  readonly registerUs: number
  readonly definitionBytes: number
  readonly registeredBytes: number
  readonly compiledBytes: number
  readonly compileMs: number
}

const PARTS = 20

/** Registers many tools, each with a schema of its own of 1 KB, then compiles some of them. */
export async function registering({ tools, compiled }: RegisteringOptions): Promise<RegisteringResult> {
  const warm = await toolyard([], { weather: handler })
  for (let i = 0; i < 500; i++) warm.getRegistry().register(definition(-i))
  const manager = await toolyard([], { weather: handler })
  const registry = manager.getRegistry()
  const executor = manager.getExecutor()

  const empty = await heapInUse()
  const definitions = Array.from({ length: tools }, (_, i) => definition(i))
  const defined = await heapInUse()
  const parts: number[] = []
  for (let part = 0; part < PARTS; part++) {
    const slice = definitions.slice((part * tools) / PARTS, ((part + 1) * tools) / PARTS)
    const started = performance.now()
    for (const each of slice) registry.register(each)
    parts.push(((performance.now() - started) * 1000) / slice.length)
  }
  const registered = await heapInUse()

  const times: number[] = []
  for (const { name } of definitions.slice(0, compiled)) {
    const started = performance.now()
    const fault = executor.check(name)
    times.push(performance.now() - started)
    if (fault !== undefined) throw new Error(fault)
  }
  const after = await heapInUse()
  return {
    tools,
    compiled,
    schemaBytes: JSON.stringify(definitions[0]?.parameters).length,
    registerUs: median(parts),
    definitionBytes: (defined - empty) / tools,
    registeredBytes: (registered - defined) / tools,
    compiledBytes: (after - registered) / compiled,
    compileMs: median(times),
  }
}

/** Read from text, as definitions from files and from servers are; every name and description is its own. */
function definition(i: number) {
  const text = (what: string) => `${what} number ${i}, as the person who asks would put it.`
  const parameters = {
    type: 'object',
    properties: {
      query: { type: 'string', description: text('The question'), minLength: 1, maxLength: 500 },
      limit: { type: 'integer', description: text('The most results'), minimum: 1, maximum: 100 },
      language: { type: 'string', enum: ['en', 'de', 'fr', 'es', 'it'], description: text('The language') },
      since: { type: 'string', format: 'date-time', description: text('The earliest date') },
      filter: {
        type: 'object',
        description: text('The filter'),
        properties: {
          author: { type: 'string', pattern: '^[a-z]+$' },
          tags: { type: 'array', items: { type: 'string', maxLength: 40 }, maxItems: 20 },
          score: { type: 'number', minimum: 0, maximum: 1 },
        },
        required: ['author'],
      },
      archived: { type: 'boolean', default: false, description: text('Whether to look into the archive') },
    },
    required: ['query'],
  }
  return JSON.parse(
    JSON.stringify({
      name: `search_${i}`,
      description: text('Searches collection'),
      parameters,
      implementation: { type: 'internal', handler: 'weather' },
    }),
  )
}
