import { describe, expect, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ModelError } from '../../models/model-error.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import type { EmbeddingRequest } from './embedding-wires.ts'
import { providerEmbedder } from './open-embedder.ts'

/** Responds when told to, and rejects on abort. */
function scriptedWire() {
  const asked: (EmbeddingRequest & PromiseWithResolvers<unknown>)[] = []
  return {
    asked,
    batch: 2,
    embed(_model: string, request: EmbeddingRequest): Promise<unknown> {
      const answer = Promise.withResolvers<unknown>()
      request.signal.addEventListener('abort', () => answer.reject(request.signal.reason))
      asked.push({ ...request, ...answer })
      return answer.promise
    },
  }
}

const settings = { name: 'p', type: 'openai', timeout_ms: 5000 }
const wire = scriptedWire()
const clock = new ManualClock()
const open = () => providerEmbedder(settings, 'm', wire, { clock, log: silentLog, dimensions: 2 })

describe('providerEmbedder', () => {
  test('times out after timeout_ms', async () => {
    const asking = (await open()).embed(['a'], 'document')
    clock.advance(4999)
    expect(wire.asked.at(-1)?.signal.aborted).toBe(false)
    clock.advance(1)
    await expect(asking).rejects.toThrow(
      'p:m: No vectors within 5000 ms. Send fewer texts at once, or raise providers.p.timeout_ms',
    )
    expect(clock.pending).toBe(0)
  })

  test('does not wait longer than timeout_ms between attempts', async () => {
    const asking = (await open()).embed(['a'], 'document')
    wire.asked.at(-1)?.reject(new ModelError('Busy.', { retryable: true, retryAfterMs: 6000 }))
    await expect(asking).rejects.toThrow('p:m: Busy.')
    expect(clock.pending).toBe(0)
  })

  test('names the model in unexpected errors', async () => {
    const asking = (await open()).embed(['a'], 'document')
    wire.asked.at(-1)?.reject(new TypeError('undefined is not a function'))
    await expect(asking).rejects.toThrow(/^p:m: the provider failed unexpectedly$/)
  })

  test('sends no more requests after a failure', async () => {
    const before = wire.asked.length
    const asking = (await open()).embed(['a', 'b', 'c'], 'document')
    wire.asked.at(-1)?.reject(new ModelError('No.'))
    await expect(asking).rejects.toThrow('p:m: No.')
    expect(wire.asked.slice(before).map(({ texts }) => texts)).toEqual([['a', 'b']])
  })
})
