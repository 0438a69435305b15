import { describe, expect, test } from 'vitest'
import type { SpanFacts, Tracer } from '../core/records/tracer.ts'
import { scripted } from '../testing/stand-ins.ts'
import { call, GO, loopSetup } from './fixtures/loop-setup.ts'

interface TracedSpan {
  readonly kind: string
  readonly name: string
  readonly parent: string | undefined
  facts?: SpanFacts
}

/** Records spans; the nth has the traceparent `span-n`. */
function keptSpans() {
  const spans: TracedSpan[] = []
  const tracer: Tracer = {
    start(kind, name, parent) {
      const span: TracedSpan = { kind, name, parent }
      const n = spans.push(span)
      return {
        traceparent: `span-${n}`,
        end(facts) {
          if (span.facts !== undefined) throw new Error('A span ends once')
          span.facts = facts
        },
      }
    },
  }
  return { tracer, spans }
}

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

describe('RunTrace', () => {
  test("creates spans for the run, its turns and its calls under the caller's span", async () => {
    const { tracer, spans } = keptSpans()
    const { loop, add } = loopSetup({ tracer })
    add('tool', () => 1)
    const model = scripted({ ...call('tool'), usage }, { text: 'Done.', usage })
    const context = { tenant: 'acme', runId: 'run-1', traceparent: 'caller' }
    await loop.answer({ model, messages: GO, context, prices: { input: 5, output: 100 } })
    const about = { model: 'scripted:turns', tenant: 'acme', runId: 'run-1' }
    expect(spans).toEqual([
      {
        kind: 'invoke_agent',
        name: '',
        parent: 'caller',
        facts: { ...about, finishReason: 'stop', inputTokens: 200, outputTokens: 20, cost: 0.003 },
      },
      {
        kind: 'chat',
        name: 'scripted:turns',
        parent: 'span-1',
        facts: { ...about, finishReason: 'tool_calls', inputTokens: 100, outputTokens: 10, cost: 0.0015 },
      },
      { kind: 'execute_tool', name: 'tool', parent: 'span-1', facts: { ...about, tool: 'tool' } },
      {
        kind: 'chat',
        name: 'scripted:turns',
        parent: 'span-1',
        facts: { ...about, finishReason: 'stop', inputTokens: 100, outputTokens: 10, cost: 0.0015 },
      },
    ])
  })

  test('records why a turn and a run failed', async () => {
    const { tracer, spans } = keptSpans()
    const { loop } = loopSetup({ tracer })
    await loop.answer({ model: scripted(new Error('boom')), messages: GO })
    expect(spans.map(({ facts }) => facts?.errorType)).toEqual(['error', 'error'])
  })

  test('ends all spans when the caller leaves the run', async () => {
    const { tracer, spans } = keptSpans()
    const { loop } = loopSetup({ tracer })
    for await (const _ of loop.run({ model: scripted('One two'), messages: GO })) break
    expect(spans.map(({ facts }) => facts?.errorType)).toEqual(['cancelled', 'cancelled'])
  })

  test('creates no span for an invalid budget', async () => {
    const { tracer, spans } = keptSpans()
    const { loop } = loopSetup({ tracer })
    await expect(loop.answer({ model: scripted('Hi.'), messages: GO, budget: { cost: 1 } })).rejects.toThrow(TypeError)
    expect(spans).toEqual([])
  })

  test.each(['start', 'end'])('ignores a tracer whose %s fails', async (what) => {
    const fail = () => {
      throw new Error('no collector')
    }
    const tracer: Tracer = { start: what === 'start' ? fail : () => ({ traceparent: 'x', end: fail }) }
    const { loop, log } = loopSetup({ tracer })
    expect(await loop.answer({ model: scripted('Hi.'), messages: GO })).toMatchObject({ content: 'Hi.' })
    expect(log.at('warn').filter(({ err }) => err !== undefined)).toHaveLength(2)
  })
})
