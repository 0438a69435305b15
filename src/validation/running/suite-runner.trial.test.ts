import { describe, expect, test } from 'vitest'
import { answering, real, weather } from './fixtures/hand-made.ts'
import { cases, observed, paris, run } from './fixtures/run-cases.ts'

describe('a trial', () => {
  test('runs every case with every model, each case once before the first repetition', async () => {
    const rome = answering('scripted:rome', () => weather('Rome'))
    const { made, planned, stopped } = await run(cases(2), {
      models: [{ model: paris }, { model: rome }],
      repeat: 2,
      concurrency: 1,
    })
    expect(planned).toHaveLength(8)
    expect(stopped.size).toBe(0)
    const of = (id: string) => made.filter(({ model }) => model.model.id === id)
    expect(of('scripted:rome').map((trial) => [trial.case.id, trial.repetition, trial.verdict.passed])).toEqual([
      ['case 1', 1, false],
      ['case 2', 1, false],
      ['case 1', 2, false],
      ['case 2', 2, false],
    ])
    expect(of('scripted:paris').map(({ verdict }) => verdict)).toEqual(new Array(4).fill({ passed: true }))
  })

  test('uses mocks whatever the implementation, permissions and limits of a tool', async () => {
    const model = answering('scripted:loop', ({ messages }, asked) =>
      asked < 3 ? weather('Paris') : `${messages.at(-1)?.content}`,
    )
    const { turns } = await observed({ max_iterations: 5, mocks: { weather: { sky: 'blue' } } }, model)
    expect(turns[0]?.calls).toEqual([
      { tool: 'weather', params: { city: 'Paris' } },
      { tool: 'weather', params: { city: 'Paris' } },
    ])
    expect(JSON.parse(turns[0]?.answer ?? '')).toMatchObject({ success: true, result: { sky: 'blue' } })
  })

  test('returns {"ok": true} for a tool without a mock', async () => {
    const model = answering('scripted:loop', ({ messages }, asked) =>
      asked < 2 ? weather('Paris') : `${messages.at(-1)?.content}`,
    )
    const { turns } = await observed({ max_iterations: 2 }, model)
    expect(JSON.parse(turns[0]?.answer ?? '').result).toEqual({ ok: true })
  })

  test('sends no more requests than the case allows', async () => {
    const model = answering('scripted:eager', () => weather('Paris'))
    const { turns } = await observed({ max_iterations: 1 }, model)
    expect([model.asked, turns[0]?.calls.length, turns[0]?.answer]).toEqual([1, 1, ''])
  })

  test('sends the whole conversation in each turn', async () => {
    const model = answering('scripted:turns', ({ messages }, asked) =>
      asked % 2 === 1 ? weather(`${messages.filter(({ role }) => role === 'user').length}`) : `Answer ${asked / 2}.`,
    )
    const turns = ['first', 'second'].map((content) => [{ role: 'user', content } as const])
    const seen = await observed({ turns, max_iterations: 5 }, model)
    expect(seen.turns).toEqual([
      { calls: [{ tool: 'weather', params: { city: '1' } }], answer: 'Answer 1.' },
      { calls: [{ tool: 'weather', params: { city: '2' } }], answer: 'Answer 2.' },
    ])
  })

  test('keeps substitute answers out of the conversation', async () => {
    const roles: string[][] = []
    const model = answering('scripted:turns', ({ messages }) => {
      roles.push(messages.map(({ role }) => role))
      return weather('Paris')
    })
    const turns = ['first', 'second'].map((content) => [{ role: 'user', content } as const])
    await observed({ turns, max_iterations: 1 }, model)
    expect(roles).toEqual([['user'], ['user', 'assistant', 'tool', 'user']])
  })

  test('observes malformed, unknown and refused calls', async () => {
    const model = answering('scripted:wild', () => ({
      calls: [
        { name: 'weather', arguments: '{"city": ' },
        { name: 'weather', arguments: '[1]' },
        { name: 'nowhere', arguments: { a: 1 } },
        { name: 'weather', arguments: { city: 5 } },
        { name: 'weather', arguments: { city: 'Rome' } },
      ],
    }))
    const { turns } = await observed({}, model)
    expect(turns[0]?.calls).toEqual([
      { tool: 'weather', params: undefined, refused: 'INVALID_PARAMETERS' },
      { tool: 'weather', params: undefined, refused: 'INVALID_PARAMETERS' },
      { tool: 'nowhere', params: { a: 1 }, refused: 'TOOL_NOT_FOUND' },
      { tool: 'weather', params: { city: 5 }, refused: 'INVALID_PARAMETERS' },
      { tool: 'weather', params: { city: 'Rome' } },
    ])
  })

  test('counts three equal calls in one response, although the loop runs only two', async () => {
    const call = { name: 'weather', arguments: { city: 'Paris' } }
    const { turns } = await observed(
      {},
      answering('scripted:thrice', () => ({ calls: [call, call, call] })),
    )
    expect(turns[0]?.calls).toEqual(new Array(3).fill({ tool: 'weather', params: { city: 'Paris' } }))
  })

  test('sends no request if a tool can’t be offered', async () => {
    let deep: object = { type: 'string' }
    for (let level = 0; level < 200; level++) deep = { type: 'object', properties: { deep } }
    const model = answering('scripted:never', () => 'hello')
    const { trial } = await observed({ tools: [real('broken', { deep })] }, model)
    expect(trial.verdict).toMatchObject({ kind: 'not_answered', message: expect.stringContaining("Tool 'broken'") })
    expect(model.asked).toBe(0)
  })
})
