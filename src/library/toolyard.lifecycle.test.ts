import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CallBatch, CallRecord } from '../core/records/recorder.ts'
import { isolated } from '../kinds/tool-handlers.ts'
import { hostileServer } from '../mcp/fixtures/connect.ts'
import { scripted } from '../testing/stand-ins.ts'
import { createToolyard } from './configured.ts'
import { createToolyard as createLight } from './index.ts'
import { type AnyTool, tool } from './tool.ts'

const description = 'A tool.'
const none = { type: 'object' } as const
const forecast = tool({ name: 'forecast', description, input: none, execute: () => 20 })

/** An instance that the test closes, and the records of its calls. */
async function open<const Tools extends readonly AnyTool[]>(tools: Tools) {
  const records: CallRecord[] = []
  const sinks = [{ write: (batch: CallBatch) => void records.push(...batch.records) }]
  const yard = await createToolyard({ tools, sinks })
  onTestFinished(() => yard.close())
  return { yard, records }
}

describe('close', () => {
  const waits = tool({
    name: 'waits',
    description,
    input: none,
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })

  test('cancels running calls and runs, records them, and can be repeated', async () => {
    const { yard, records } = await open([waits])
    const call = yard.call('waits', {})
    const run = yard.run({ model: scripted({ calls: [{ name: 'waits', arguments: {} }] }), prompt: 'Wait.' })
    await vi.waitFor(() => expect(yard.executor.running).toBe(2))
    await Promise.all([yard.close(), yard.close()])
    expect(records).toMatchObject([{ code: 'CANCELLED' }, { code: 'CANCELLED' }])
    expect(await call).toMatchObject({ error_code: 'CANCELLED', outcome: 'unknown' })
    expect(await run).toMatchObject({ stop_reason: 'cancelled' })
    expect(yard.executor.running).toBe(0)
    await yard.close()
  })

  test('refuses calls and runs afterwards, so that no process is started', async () => {
    const isolatedTool = tool({
      name: 'child',
      description,
      input: none,
      execute: isolated(new URL('./none.ts', import.meta.url), 'run'),
    })
    const { yard } = await open([isolatedTool])
    await yard.close()
    const refused = { error_code: 'SERVICE_UNAVAILABLE', error: 'Toolyard is closed: no more tools can be called' }
    expect(await yard.call('child', {})).toMatchObject(refused)
    await expect(yard.run({ model: scripted('Hi'), prompt: 'Hi' })).rejects.toThrow('Toolyard is closed')
  })
})

describe('options of createToolyard', () => {
  test.each([
    [undefined, 'createToolyard() takes an object'],
    [{ tool: [forecast] }, 'createToolyard: unknown option "tool". Did you mean "tools"?'],
    [{ tools: { forecast } }, 'createToolyard: tools must be an array, such as [forecast]'],
    [{ tools: [forecast, null] }, 'createToolyard: tools[1] is not a tool: make it with tool()'],
    [{ tools: [{ description, execute: () => 1 }] }, 'convert tools of the AI SDK with fromAiSdk()'],
    [{ sinks: { write() {} } }, 'createToolyard: sinks must be an array of objects with write(batch)'],
    [{ log: 'info' }, "log must be a pino logger, console or {level: 'info'}, not 'info'"],
    [{ config: 5 }, 'config must be a configuration or the name of its file, not 5'],
  ])('rejects %j', async (options, message) => {
    await expect(createToolyard(options as never)).rejects.toThrow(message)
  })
})

describe('options', () => {
  const model = scripted('Hi')

  test('refuses options that do not exist, with the nearest', async () => {
    const { yard } = await open([forecast])
    const misspelled = { tenent: 'acme' } as object
    await expect(yard.call('forecast', {}, misspelled)).rejects.toThrow(
      'yard.call: unknown option "tenent". Did you mean "tenant"?',
    )
    await expect(yard.run({ model, prompt: 'Hi', ...misspelled })).rejects.toThrow('yard.run: unknown option "tenent"')
    await expect(yard.run({ model, prompt: 'Hi', ...{ colour: 1 } })).rejects.toThrow('Known options are tenant, flags')
    await expect(yard.resume('a', misspelled)).rejects.toThrow('yard.resume: unknown option "tenent"')
  })

  test('takes definitions of all kinds', async () => {
    const steps = [{ id: 'now', tool: 'forecast' }]
    const plan = { name: 'plan', description, parameters: none, implementation: { type: 'pipeline', steps } }
    await using yard = await createToolyard({ tools: [forecast, plan] })
    expect(await yard.call('plan', {})).toMatchObject({ success: true, result: 20 })
    await expect(createLight({ tools: [forecast, plan] })).rejects.toThrow(
      'A tool of this kind needs the package toolyard',
    )
  })

  test('waits for MCP servers, and not for one that fails', async () => {
    const config = {
      mcpServers: {
        notes: { command: process.execPath, args: [hostileServer] },
        gone: { command: '/does/not/exist' },
      },
    }
    await using yard = await createToolyard({ config })
    expect(await yard.call('echo', { message: 'Hi' })).toMatchObject({ success: true })
  })

  test('knows the usual providers beside a configuration, also for agents', async () => {
    vi.stubEnv('OPENAI_API_KEY', '')
    onTestFinished(() => void vi.unstubAllEnvs())
    const agent = {
      name: 'ask',
      description,
      parameters: none,
      implementation: { type: 'agent', model: 'openai:gpt-5' },
    }
    for (const registry of [[], [agent]]) {
      await using yard = await createToolyard({ tools: [forecast], config: { tools: { registry } } })
      const error = expect.stringContaining('OPENAI_API_KEY is not set')
      expect(await yard.run({ model: 'openai:gpt-5', prompt: 'Hi' })).toMatchObject({ stop_reason: 'error', error })
      if (registry.length > 0) expect(await yard.call('ask', {})).toMatchObject({ success: false, error })
    }
  })
})
