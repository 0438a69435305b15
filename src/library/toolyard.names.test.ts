import { describe, expect, onTestFinished, test } from 'vitest'
import { deepText } from '../core/fixtures/foreign-json.ts'
import { INHERITED_NAMES, own } from '../core/fixtures/inherited-names.ts'
import { scripted } from '../testing/stand-ins.ts'
import { toAiSdk } from './ai-sdk.ts'
import { tool } from './tool.ts'
import { createToolyard } from './toolyard.ts'

async function open(name: string) {
  const input = { type: 'object', properties: own(name, { type: 'string' }), required: [name] } as const
  const yard = await createToolyard({
    tools: [
      tool({ name: 'echo', description: 'x', input, execute: (params: object) => params }),
      tool({ name, description: 'x', input: { type: 'object' }, execute: () => 'ran' }),
    ],
    models: own(name, scripted({ calls: [{ name, arguments: {} }] }, 'Done.')),
  })
  onTestFinished(() => yard.close())
  return yard
}

describe.each(INHERITED_NAMES)('%s', (name) => {
  const sent = own(name, 'x')
  const text = JSON.stringify(sent)

  test('is a parameter and a tool in code', async () => {
    const yard = await open(name)
    expect(JSON.stringify(await yard.call('echo', sent))).toContain(`"result":${text}`)
    expect(await yard.call('echo', {})).toMatchObject({ error: `Invalid parameters: missing '${name}'` })
    expect(await yard.call(name, {})).toMatchObject({ success: true, result: 'ran' })
    expect(await yard.call('echo', sent, { tenant: name, user: name })).toMatchObject({ success: true })
  })

  test('is a parameter and a tool that a model calls, and the name of a model', async () => {
    const yard = await open(name)
    const model = scripted({ calls: [{ name: 'echo', arguments: sent }] }, 'Done.')
    const { tool_calls } = await yard.run({ model, prompt: 'x' })
    expect(JSON.stringify(tool_calls.map((one) => ('result' in one ? one.result : one)))).toContain(`"result":${text}`)
    const named = await yard.run({ model: name, prompt: 'x' })
    expect(named).toMatchObject({ stop_reason: 'stop', tool_calls: [{ tool: name, result: { result: 'ran' } }] })
  })

  test('is a parameter and a tool of the AI SDK', async () => {
    const tools = toAiSdk(await open(name))
    expect(Object.keys(tools).sort()).toEqual(['echo', name].sort())
    const options = { toolCallId: '1', messages: [], context: {} }
    expect(JSON.stringify(await tools.echo?.execute?.(sent, options as never))).toContain(text)
    const named = Object.getOwnPropertyDescriptor(tools, name)?.value
    expect(await named.execute({}, options)).toBe('ran')
  })
})

test.each([2_000, 10_000, 100_000])(
  'a run with messages of %d levels ends with an answer or a clear error',
  async (levels) => {
    const yard = await open('a')
    const deep = JSON.parse(deepText(levels))
    const call = { id: '1', name: 'echo', arguments: deep }
    for (const messages of [
      [{ role: 'user', content: deep }],
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: '', tool_calls: [call] },
      ],
      deep,
    ]) {
      const run = yard.run({ model: scripted('Done.'), prompt: 'x', messages } as never)
      const outcome = await run.then(String, (error: unknown) => String(error))
      expect(outcome).not.toContain('call stack')
    }
    expect(await yard.call('echo', { a: 'x' })).toMatchObject({ success: true })
    expect(await yard.call('echo', deep)).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  },
)
