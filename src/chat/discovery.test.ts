import { describe, expect, test } from 'vitest'
import type { Message } from '../models/model.ts'
import { ProviderClient } from '../models/providers/provider-client.ts'
import { ManualClock, scripted } from '../testing/stand-ins.ts'
import { call, loopSetup, told } from './fixtures/loop-setup.ts'
import type { JournalStep } from './journal.ts'

const ASKED: readonly Message[] = [{ role: 'user', content: 'Water the garden' }]
const search = call('search_tools', { query: 'repair a bicycle', limit: 1 })
const namesOf = (tools: readonly { readonly name: string }[] = []) => tools.map(({ name }) => name)

/** A loop that always searches, with three tools. */
function setup(discovery = {}) {
  const given = loopSetup({ discovery: { enabled: true, ...discovery } })
  const named = (description: string) => ({ description, effect: 'read' as const })
  given.add('water', () => 'watered', named('Water the garden'))
  given.add('fix', () => 'fixed', named('Repair a bicycle'))
  given.add('cook', () => 'cooked', named('Cook a soup'))
  return given
}

test('a printed call of the search runs, and so does one of what it found', async () => {
  const { loop, log } = setup()
  const printed = (name: string, args = {}) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`
  const script = scripted(printed('search_tools', { query: 'repair a bicycle' }), printed('fix'), 'Done.')
  const stream = (_: string, asked: object) => script.stream(asked as never)
  const wire = { dialect: 'plain', printsCalls: true, stream }
  const client = new ProviderClient({ name: 'local', type: 'ollama' }, wire as never, { log, clock: new ManualClock() })
  const { tool_calls } = await loop.answer({ model: client.model('m'), messages: ASKED })
  expect(tool_calls.map(({ tool, result }) => [tool, result.success])).toEqual([
    ['search_tools', true],
    ['fix', true],
  ])
})

test('two runs of a user that search at once find their own tools', async () => {
  const { loop } = setup()
  const run = (allowed_tools: string[]) => {
    const model = scripted(call('search_tools', { query: 'repair a bicycle or cook a soup' }), 'Done.')
    return loop.answer({ model, messages: ASKED, allowed_tools, context: { user: 'ada' } })
  }
  const found = (await Promise.all([run(['water', 'fix']), run(['water', 'cook'])])).map(({ tool_calls }) =>
    JSON.stringify(tool_calls[0]?.result),
  )
  expect(found).toEqual([expect.stringContaining('fix'), expect.stringContaining('cook')])
  expect(found).toEqual([expect.not.stringContaining('cook'), expect.not.stringContaining('fix')])
})

test('a durable run that continues is offered what it had found', async () => {
  const steps: JournalStep[] = []
  const { loop } = setup()
  const run = (model: ReturnType<typeof scripted>, isKilled: boolean) => {
    const append = async (step: JournalStep) => {
      if (isKilled && steps.length === 2) throw new Error('killed')
      steps.push(structuredClone(step))
    }
    const journal = { steps: structuredClone(steps), keyed: true, append }
    return told(loop.run({ model, messages: ASKED, context: { runId: 'r1' }, journal }))
  }
  const first = scripted(search, call('fix'))
  await expect(run(first, true)).rejects.toThrow('killed')
  const second = scripted(call('fix'), 'Done.')
  const { answer } = await run(second, false)
  expect(namesOf(second.requests[0]?.tools)).toEqual(namesOf(first.requests[1]?.tools))
  expect(namesOf(second.requests[0]?.tools).at(-1)).toBe('fix')
  expect(answer.tool_calls.map(({ tool }) => tool)).toEqual(['search_tools', 'fix'])
})

describe('the name search_tools', () => {
  test('belongs to a registered tool of that name: the run gets the matches, and no search of ours', async () => {
    const { loop, add, executor } = setup()
    add('search_tools', () => 'mine', { description: 'Water the garden by search' })
    const model = scripted('Done.')
    await loop.answer({ model, messages: ASKED })
    expect(namesOf(model.requests[0]?.tools).sort()).toEqual(['search_tools', 'water'])
    expect(await executor.execute('search_tools', {})).toMatchObject({ result: 'mine' })
  })

  test('belongs to the client if one of its tools has it', async () => {
    const { loop } = setup()
    const model = scripted('Done.')
    const mine = { name: 'search_tools', description: 'Mine', parameters: { type: 'object' } }
    await loop.answer({ model, messages: ASKED, client_tools: [mine] })
    expect(model.requests[0]?.tools).toEqual([expect.objectContaining({ name: 'water' }), mine])
  })

  test('can be switched off for a tenant', async () => {
    const { loop } = setup()
    const model = scripted('Done.')
    await loop.answer({ model, messages: ASKED, context: { flags: { search_tools: false } } })
    expect(namesOf(model.requests[0]?.tools)).toEqual(['water'])
  })
})

test('the budget of later messages comes first, and the order stays that of the conversation', async () => {
  const messages: Message[] = [
    ...ASKED,
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Now repair my bicycle' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'And cook a soup' },
  ]
  const offered = async (max_tool_tokens: number) => {
    const model = scripted('Done.')
    await setup({ max_tool_tokens }).loop.answer({ model, messages })
    return namesOf(model.requests[0]?.tools)
  }
  expect(await offered(10_000)).toEqual(['search_tools', 'water', 'fix', 'cook'])
  expect(await offered(1)).toEqual(['search_tools', 'cook'])
})

test('tools that are added, changed or removed are found as they are now', async () => {
  const { loop, add, registry } = setup()
  const found = async () => {
    const model = scripted(call('search_tools', { query: 'repair a bicycle', limit: 1 }), 'Done.')
    const { tool_calls } = await loop.answer({ model, messages: [{ role: 'user', content: 'Hello' }] })
    return (Object(tool_calls[0]?.result) as { result: { found: { name: string }[]; note: string } }).result
  }
  expect(namesOf((await found()).found)).toEqual(['fix'])
  registry.unregister('fix')
  expect(await found()).toMatchObject({ found: [], note: expect.stringContaining('No tools match') })
  add('repair', () => 'repaired', { description: 'Repair a bicycle' })
  expect(namesOf((await found()).found)).toEqual(['repair'])
})

test('tools that a tenant has called more often come first, for this tenant only', async () => {
  const { executor, add } = setup()
  for (const name of ['plant_a', 'plant_b']) add(name, () => 1, { description: 'Plant a tree' })
  for (let calls = 0; calls < 3; calls++) await executor.execute('plant_b', {}, { tenant: 'one' })
  executor.flush()
  const first = async (tenant: string) => {
    const answer = await executor.execute('search_tools', { query: 'plant a tree', limit: 1 }, { tenant })
    return namesOf((Object(answer) as { result: { found: { name: string }[] } }).result.found)
  }
  expect([await first('one'), await first('two')]).toEqual([['plant_b'], ['plant_a']])
})

test('a search with invalid parameters fails like any call', async () => {
  const { executor } = setup()
  const failed = { error_code: 'INVALID_PARAMETERS' }
  expect(await executor.execute('search_tools', {})).toMatchObject(failed)
  expect(await executor.execute('search_tools', { query: 'a', limit: 21 })).toMatchObject(failed)
  expect(await executor.execute('search_tools', { query: 'a', limt: 2 })).toMatchObject(failed)
})
