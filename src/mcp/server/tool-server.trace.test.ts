import { describe, expect, test } from 'vitest'
import type { Tracer } from '../../core/records/tracer.ts'
import { httpYard } from './fixtures/http-yard.ts'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const META = { traceparent: TRACE, tracestate: 'rojo=00f067aa0ba902b7', baggage: 'user=alice' }

/** A server whose calls say what trace they belong to. */
async function tracedYard() {
  const parents: (string | undefined)[] = []
  const tracer: Tracer = {
    start(_kind, _name, parent) {
      parents.push(parent)
      return { traceparent: TRACE, end: () => {} }
    },
  }
  const yard = await httpYard({}, {}, { tracer })
  yard.add('echo', async () => 'said')
  // Parameters that are repeated in headers are for the SDK to check.
  const city = { type: 'string', 'x-mcp-header': 'City' }
  yard.add('mirrored', async () => 'said', { parameters: { type: 'object', properties: { city } } })
  return { ...yard, parents }
}

describe.each(['legacy', 'modern'] as const)('a call of a client of the %s era', (era) => {
  test.each(['echo', 'mirrored'])('belongs to the trace in its _meta when it calls %s', async (name) => {
    const { client, parents } = await tracedYard()
    const caller = await client(era)
    const call = { name, arguments: name === 'mirrored' ? { city: 'Oslo' } : {} }
    if (name === 'mirrored') await caller.listTools()
    await caller.callTool({ ...call, _meta: META })
    await caller.callTool(call)
    await caller.callTool({ ...call, _meta: { traceparent: 7 } })
    expect(parents).toEqual([TRACE, undefined, undefined])
  })
})
