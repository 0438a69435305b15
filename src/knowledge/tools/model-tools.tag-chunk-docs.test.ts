import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../models/model.ts'
import { ModelError } from '../../models/model-error.ts'
import { type GivenAnswer, type GivenTurn, scripted } from '../../testing/stand-ins.ts'
import { toolsOver } from './fixtures/call-tool.ts'

type Chunks = { chunks: { index: number; text: string; tags: string[] }[] }

/** A document with this many sections, one chunk each. */
const sections = (count: number): string =>
  Array.from({ length: count }, (_, index) => `## Part ${index}\n\n${`About number ${index}. `.repeat(8)}`).join('\n\n')
const about = ({ messages }: ModelRequest): string => /number (\d+)/.exec(String(messages[1]?.content))?.[1] ?? ''
const answer = (request: ModelRequest): string => JSON.stringify({ tags: [`n${about(request)}`] })
const times = (count: number, turn: GivenTurn): GivenTurn[] => Array.from({ length: count }, () => turn)
const ticks = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const params = { chunk_size: 200 }

test('returns chunks in order with their tags', async () => {
  const order: string[] = []
  const turn: GivenTurn = async (request) => {
    const number = Number(about(request))
    await ticks(number % 5 === 0 ? 30 : 1)
    order.push(`n${number}`)
    return answer(request)
  }
  const tools = toolsOver(scripted(...times(8, turn)))
  const { chunks } = (await tools.call('tag_chunk_docs', { content: sections(8), ...params })) as Chunks
  expect(chunks.map(({ index, tags }) => [index, ...tags])).toEqual(
    Array.from({ length: 8 }, (_, index) => [index, `n${index}`]),
  )
  expect(order).not.toEqual(chunks.flatMap(({ tags }) => tags))
  expect(chunks[3]?.text).toMatch(/^## Part 3\n\nAbout number 3\./)
  expect(tools.reports).toEqual(Array.from({ length: 8 }, (_, index) => ({ progress: index + 1, total: 8 })))
  expect(tools.clock.pending).toBe(0)
})

test('splits without loss or overlap', async () => {
  const content = `Words and more words. ${'A sentence of some length follows here. '.repeat(60)}`.trim()
  const { chunks } = (await toolsOver(scripted(...times(40, '{"tags": []}'))).call('tag_chunk_docs', {
    content,
    ...params,
  })) as Chunks
  expect(chunks.length).toBeGreaterThan(5)
  expect(chunks.map(({ text }) => text).join(' ')).toBe(content)
})

test('sends five requests at a time', async () => {
  const waiting: (() => void)[] = []
  const turn: GivenTurn = (request) =>
    new Promise((resolve) => {
      waiting.push(() => resolve(answer(request)))
    })
  const called = toolsOver(scripted(...times(12, turn))).call('tag_chunk_docs', { content: sections(12), ...params })
  const open: number[] = []
  for (let answered = 0; answered < 12; answered++) {
    await ticks()
    open.push(waiting.length)
    waiting.shift()?.()
  }
  await called
  expect(open).toEqual([5, 5, 5, 5, 5, 5, 5, 5, 4, 3, 2, 1])
})

describe('tags', () => {
  test.each([
    ['as asked for', '{"tags": ["a", "b"]}', ['a', 'b']],
    ['as a list', '["a", "b"]', ['a', 'b']],
    ['as one text', '{"tags": "a, b"}', ['a', 'b']],
    ['once each', '{"tags": ["a", "A ", "b"]}', ['a', 'b']],
    ['not whole sentences', JSON.stringify({ tags: ['a', 'x'.repeat(101), 'b'] }), ['a', 'b']],
    ['ten at most', JSON.stringify({ tags: [...'abcdefghijkl'] }), [...'abcdefghij']],
    ['none in a reply that is empty', '', []],
  ])('%s', async (_, reply, tags) => {
    const result = await toolsOver(scripted(reply)).call('tag_chunk_docs', { content: 'One chunk.' })
    expect(result).toEqual({ chunks: [{ index: 0, text: 'One chunk.', tags }], method: 'model' })
  })

  test('are empty for unreadable replies', async () => {
    const model = scripted('Hm.', 'Well.')
    const result = await toolsOver(model).call('tag_chunk_docs', { content: 'One chunk.' })
    expect(result).toMatchObject({ chunks: [{ tags: [] }] })
    expect(model.requests).toHaveLength(2)
  })
})

test('returns no chunks for blank content', async () => {
  expect(await toolsOver(undefined).call('tag_chunk_docs', { content: ' \n' })).toEqual({
    chunks: [],
    method: 'embedded',
  })
})

describe('partial results', () => {
  test('leave chunks without tags if some requests fail, and log a warning', async () => {
    const busy = new ModelError('Busy.', { status: 429 })
    const turn: GivenTurn = (request) => (Number(about(request)) % 3 === 1 ? busy : answer(request))
    const tools = toolsOver(scripted(...times(30, turn)))
    const { chunks } = (await tools.call('tag_chunk_docs', { content: sections(30), ...params })) as Chunks
    expect(chunks.map(({ tags }) => tags)).toEqual(
      Array.from({ length: 30 }, (_, index) => (index % 3 === 1 ? [] : [`n${index}`])),
    )
    expect(tools.log.at('warn')).toMatchObject([{ tool: 'tag_chunk_docs', chunks: 30, untagged: 10, failed: 10 }])
  })

  test('leave chunks without tags when time runs out', async () => {
    const started: GivenAnswer[] = []
    const stuck = (): GivenAnswer => {
      const never = { delayMs: 1_000_000, clock: tools.clock }
      started.push(never)
      return never
    }
    const model = scripted(...times(3, answer), ...times(20, stuck))
    const tools = toolsOver(model)
    const called = tools.call('tag_chunk_docs', { content: sections(20), ...params })
    await ticks()
    expect(started).toHaveLength(5)
    tools.clock.advance(26_999)
    await ticks()
    expect(tools.clock.pending).toBe(6)
    tools.clock.advance(1)
    const { chunks } = (await called) as Chunks
    expect(chunks).toHaveLength(20)
    expect(chunks.flatMap(({ tags }) => tags)).toEqual(['n0', 'n1', 'n2'])
    expect(model.requests).toHaveLength(8)
    expect(tools.log.at('warn')).toMatchObject([{ untagged: 17, failed: 0 }])
  })
})

test('are not returned if the model never answers', async () => {
  const model = scripted(...times(50, new ModelError('Down.', { status: 503 })))
  const called = toolsOver(model).call('tag_chunk_docs', { content: sections(50), ...params })
  await expect(called).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(model.requests.length).toBeLessThan(10)
})

test('stop when the caller aborts', async () => {
  const controller = new AbortController()
  const reason = new Error('gone')
  const turn: GivenTurn = () => ({ delayMs: 1_000_000, clock: tools.clock })
  const model = scripted(answer, ...times(20, turn))
  const tools = toolsOver(model)
  const called = tools.call('tag_chunk_docs', { content: sections(20), ...params }, controller.signal)
  await ticks()
  controller.abort(reason)
  await expect(called).rejects.toBe(reason)
  await ticks()
  expect([model.requests.length, tools.clock.pending]).toEqual([6, 0])
})

test.each([
  [{ content: 'x'.repeat(200_001) }, 'content must not be longer than 200000 characters'],
  [{ content: 'x', chunk_size: 10 }, 'chunk_size must be an integer from 50 to 32000 characters, not 10'],
  [{ content: 'x', chunk_size: 1.5 }, 'chunk_size must be an integer'],
])('rejects parameters %#', async (given, problem) => {
  await expect(toolsOver(undefined).call('tag_chunk_docs', given)).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    message: `Invalid parameters: ${problem}`,
  })
})
