import { Agent, Runner } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { describe, expect, test, vi } from 'vitest'
import type { AdapterOptions } from './adapter.ts'
import { adapterYard, PNG } from './fixtures/adapter-yard.ts'
import { toOpenAiAgents } from './openai-agents.ts'
import { createToolyard } from './toolyard.ts'

const runner = new Runner({ tracingDisabled: true })

type Made = Awaited<ReturnType<typeof adapterYard>>

/** Runs an agent whose model calls the tool, then answers; gives the answer, and what the model saw of the result. */
async function run(
  { yard }: Made,
  name: string,
  args: object | string = {},
  options: AdapterOptions = {},
  signal?: AbortSignal,
) {
  const call = functionCall(name, args as Record<string, unknown>, { callId: 'call_1' })
  const model = new ScriptedModel([[call], [assistantMessage('Done.')]])
  const agent = new Agent({ name: 'Clerk', model, tools: await toOpenAiAgents(yard, options) })
  const { finalOutput } = await runner.run(agent, 'Go', { ...(signal && { signal }) })
  const { input } = model.lastCall?.request ?? {}
  const last = Array.isArray(input) ? input.at(-1) : undefined
  return { finalOutput, model, seen: last?.type === 'function_call_result' ? last.output : undefined }
}

describe('toOpenAiAgents', () => {
  test('gives tools for an agent, with their schemas as they are', async () => {
    const made = await adapterYard()
    const { finalOutput, model, seen } = await run(made, 'forecast', { city: 'Oslo' })
    expect(finalOutput).toBe('Done.')
    expect(seen).toEqual({ type: 'text', text: '{"city":"Oslo","days":1,"degrees":22}' })
    expect(model.firstCall?.request.tools[0]).toMatchObject({
      type: 'function',
      name: 'forecast',
      description: 'The weather of a city.',
      parameters: made.yard.tools[0]?.parameters,
      strict: false,
    })
    expect(made.recorded()).toMatchObject([{ tool: 'forecast' }])
  })

  test('gives the tools that match the patterns and that the caller may use', async () => {
    const { yard } = await adapterYard()
    const names = async (options?: AdapterOptions) => (await toOpenAiAgents(yard, options)).map(({ name }) => name)
    expect(await names()).toEqual(['forecast', 'order_book', 'copy_pages', 'chart', 'stuck'])
    expect(await names({ tools: ['vault', 'f*'], flags: { vault: true } })).toEqual(['forecast', 'vault'])
  })

  test('calls for the tenant and the user, with app', async () => {
    const options = { tenant: 'acme', user: 'ann', app: { rows: 1 }, flags: { vault: true } }
    const { seen } = await run(await adapterYard(), 'vault', {}, options)
    expect(seen).toEqual({ type: 'text', text: '{"tenant":"acme","user":"ann","app":{"rows":1}}' })
    const typed = await createToolyard<{ rows: number }>({ tools: [] })
    // @ts-expect-error: app is missing
    await toOpenAiAgents(typed)
  })

  test('gives the message of a failure to the model', async () => {
    const made = await adapterYard()
    const { finalOutput, seen } = await run(made, 'forecast', { town: 'Oslo' })
    expect(finalOutput).toBe('Done.')
    expect(seen).toEqual({ type: 'text', text: "Invalid parameters: missing 'city'" })
    // The SDK reads the arguments first.
    const { seen: unread } = await run(made, 'forecast', '{"city":')
    expect(unread).toMatchObject({ text: expect.stringContaining('valid JSON') })
    expect(made.recorded()).toMatchObject([{ code: 'INVALID_PARAMETERS' }])
  })

  test('shows images in results to the model', async () => {
    expect((await run(await adapterYard(), 'chart')).seen).toEqual([
      {
        type: 'input_text',
        text: expect.stringMatching(/^\["The chart","\[image chart\.png, image\/png, \d+ bytes\]"\]$/),
      },
      { type: 'input_image', image: `data:image/png;base64,${PNG}` },
    ])
  })

  test('cancels the call with the abort signal of the run', async () => {
    const made = await adapterYard()
    const controller = new AbortController()
    const running = run(made, 'stuck', {}, {}, controller.signal).catch((error) => error)
    await vi.waitFor(() => expect(made.signal()).toBeDefined())
    controller.abort()
    expect(await running).toBeInstanceOf(Error)
    expect(made.signal()?.aborted).toBe(true)
    await vi.waitFor(() => expect(made.recorded()).toMatchObject([{ tool: 'stuck', code: 'CANCELLED' }]))
  })

  test('runs a repeated write once within a run', async () => {
    const made = await adapterYard()
    for (const runId of ['a', 'a', 'b']) {
      const { seen } = await run(made, 'order_book', { title: 'Emma' }, { runId })
      expect(seen).toEqual({ type: 'text', text: 'ordered Emma' })
    }
    expect(made.ran).toHaveLength(2)
  })
})
