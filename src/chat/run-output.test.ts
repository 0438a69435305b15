import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../core/tool.ts'
import { scripted } from '../testing/stand-ins.ts'
import { call, GO, loopSetup, told, wellFormed } from './fixtures/loop-setup.ts'

const schema: JsonSchema = {
  type: 'object',
  properties: { town: { type: 'string' }, warm: { type: 'boolean' } },
  required: ['town'],
  additionalProperties: false,
}
const output = { schema }
const OSLO = '{"town": "Oslo"}'

function setup() {
  const { loop, add } = loopSetup()
  add('look', async () => 'seen')
  add('pay', async () => 'paid')
  return loop
}
const texts = (events: readonly { type: string; text?: string }[]) =>
  events.flatMap(({ type, text }) => (type === 'text-delta' ? [text] : []))

describe('a run that must call a tool', () => {
  test('asks its provider for a call in the first turn only', async () => {
    const model = scripted({ text: 'I look.', ...call('look') }, 'Done.')
    const { answer, events } = await told(setup().run({ model, messages: GO, tool_choice: 'required' }))
    expect(answer).toMatchObject({ content: 'Done.', tool_calls: [{ tool: 'look' }] })
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual(['required', undefined])
    expect(texts(events)).toEqual(['I look.', 'Done.'])
  })

  test('offers only the tool that it names', async () => {
    const model = scripted(call('pay'), 'Paid.')
    await told(setup().run({ model, messages: GO, tool_choice: { name: 'pay' } }))
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['pay'], ['look', 'pay']])
  })

  test('corrects a model that answers instead, once, and shows none of it', async () => {
    const model = scripted('No need.', call('look'), 'Done.')
    const { answer, events, messages } = await told(setup().run({ model, messages: GO, tool_choice: 'required' }))
    expect(answer).toMatchObject({ content: 'Done.', stop_reason: 'stop' })
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: 'No need.' },
      { role: 'user', content: 'You must call a tool before you answer. Call it now.' },
    ])
    expect(texts(events)).toEqual(['Done.'])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(wellFormed(messages)).toBe(true)
    const stubborn = scripted('No need.', 'Really not.')
    const refused = await told(setup().run({ model: stubborn, messages: GO, tool_choice: 'required' }))
    expect(refused.answer).toMatchObject({ stop_reason: 'error', error_status: 422, tool_calls: [] })
    expect(refused.answer.error).toBe('Model scripted:turns did not call a tool. Ask again, or use another model')
    expect(texts(refused.events)).toEqual([])
  })

  test('is refused without a tool that it could call', async () => {
    const run = (tool_choice: 'required' | { name: string }, allowed_tools?: string[]) =>
      told(setup().run({ model: scripted(), messages: GO, tool_choice, ...(allowed_tools && { allowed_tools }) }))
    await expect(run('required', [])).rejects.toThrow('tool_choice is "required", but no tools are offered')
    await expect(run({ name: 'loook' })).rejects.toThrow("tool_choice names the tool 'loook', which is not offered")
  })
})

describe('a run with an output', () => {
  test('asks for the schema in the prompt, and gives the parsed answer', async () => {
    const model = scripted({ text: 'I look.', ...call('look') }, `\`\`\`json\n${OSLO}\n\`\`\``)
    const messages = [{ role: 'system', content: 'Be brief.' } as const, ...GO]
    const { answer, events, messages: all } = await told(setup().run({ model, messages, output }))
    expect(answer).toMatchObject({ content: OSLO, output: { town: 'Oslo' }, stop_reason: 'stop' })
    expect(texts(events)).toEqual([OSLO])
    const [first] = model.requests
    expect(first?.response_schema).toBe(schema)
    expect(first?.messages[0]?.content).toMatch(/^Be brief\.\n\nAnswer with one JSON object .*"town"/s)
    expect(all.slice(0, 2)).toEqual(messages)
  })

  test('asks a model whose provider enforces the schema for nothing', async () => {
    const model = { ...scripted(OSLO), enforces: () => true }
    await told(setup().run({ model, messages: GO, output }))
    expect(model.requests[0]).toMatchObject({ messages: GO, response_schema: schema })
  })

  test('corrects an answer once, without tools, and removes the correction from the conversation', async () => {
    const model = scripted('{"town": 5}', OSLO)
    const { answer, messages } = await told(setup().run({ model, messages: GO, output }))
    expect(answer.output).toEqual({ town: 'Oslo' })
    expect(model.requests.map(({ tools }) => tools.length)).toEqual([2, 0])
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('town must be a string')
    expect(messages).toEqual([...GO, { role: 'assistant', content: OSLO }])
  })

  test.each(['Oslo', '[]', '{"town": "Oslo"', '{"town": "Oslo", "also": 1}', '{"__proto__": {}}', '['.repeat(5_000)])(
    'fails after two answers such as %s',
    async (text) => {
      const { answer, events } = await told(setup().run({ model: scripted(text, text), messages: GO, output }))
      expect(answer).toMatchObject({ stop_reason: 'error', error_status: 422 })
      expect(answer).not.toHaveProperty('output')
      expect(texts(events)).toEqual([])
    },
  )

  test('passes on an answer that is cut off, which nothing has checked', async () => {
    const model = scripted({ text: '{"town": "Os', reason: 'length' })
    const { answer } = await told(setup().run({ model, messages: GO, output }))
    expect(answer).toMatchObject({ content: '{"town": "Os', stop_reason: 'length' })
    expect(answer).not.toHaveProperty('output')
  })

  test.each([
    ['```json\n{"town": "Oslo"}\n```', OSLO],
    ['It is Oslo.', undefined],
    ['{"town": 5}', undefined],
  ])('is checked after a limit of the run as well: %s', async (text, shown) => {
    const model = scripted(call('look'), text)
    const { answer, events } = await told(setup().run({ model, messages: GO, output, max_iterations: 1 }))
    expect([answer.stop_reason, answer.final_answer]).toEqual(['max_iterations', shown])
    expect(answer).not.toHaveProperty('output')
    expect([answer.content, ...texts(events)].join('')).not.toMatch(/It is|5/)
  })

  test('is checked by the library of the schema too, which makes the value', async () => {
    const validate = async (value: unknown) => {
      const { town } = value as { town: string }
      return town === 'Oslo' ? { value: { town: 'OSLO' } } : { issues: [{ message: 'is too far', path: ['town'] }] }
    }
    const refined = { schema, refinement: { validate, fillsDefaults: true } }
    const model = scripted('{"town": "Rome"}', OSLO)
    const { answer } = await told(setup().run({ model, messages: GO, output: refined }))
    expect(answer.output).toEqual({ town: 'OSLO' })
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('town: is too far')
  })
})
