import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isLangChainTool, tool as langchainTool, type StructuredTool } from '@langchain/core/tools'
import { Agent, Runner } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { tool as aiTool, generateText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createToolyard, tool } from 'toolyard'
import { fromAiSdk, toAiSdk } from 'toolyard/ai-sdk'
import { toLangChain } from 'toolyard/langchain'
import { toOpenAiAgents } from 'toolyard/openai-agents'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import manifest from '../package.json' with { type: 'json' }
import { loadedFiles } from '../scripts/import-weight.ts'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 20 }),
})

describe('Adapters', () => {
  test('[11.2-1] toAiSdk(yard) gives tools for generateText({tools})', async () => {
    await using yard = await createToolyard({ tools: [forecast] })
    const call = { type: 'tool-call', toolCallId: 'call_1', toolName: 'forecast', input: '{"city":"Oslo"}' } as const
    const model = new MockLanguageModelV4({
      doGenerate: {
        content: [call],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      },
    })
    const { toolResults } = await generateText({ model, tools: toAiSdk(yard), prompt: 'How warm is it in Oslo?' })
    expect(toolResults).toMatchObject([{ toolName: 'forecast', output: { city: 'Oslo', degrees: 20 } }])
  })

  test('[11.2-2] toLangChain(yard) gives LangChain tools', async () => {
    await using yard = await createToolyard({ tools: [forecast] })
    const [one] = await toLangChain<StructuredTool>(yard)
    expect(isLangChainTool(one)).toBe(true)
    expect(await one?.invoke({ city: 'Oslo' })).toBe('{"city":"Oslo","degrees":20}')
  })

  test('[11.2-3] toOpenAiAgents(yard) gives tools for OpenAI Agents', async () => {
    await using yard = await createToolyard({ tools: [forecast] })
    const call = functionCall('forecast', { city: 'Oslo' }, { callId: 'call_1' })
    const model = new ScriptedModel([[call], [assistantMessage('It is 20 degrees.')]])
    const agent = new Agent({ name: 'Meteorologist', model, tools: await toOpenAiAgents(yard) })
    const { newItems, finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'How warm is it in Oslo?')
    expect(newItems).toContainEqual(expect.objectContaining({ output: '{"city":"Oslo","degrees":20}' }))
    expect(finalOutput).toBe('It is 20 degrees.')
  })

  test('[11.2-4] AI SDK tools, LangChain tools and plain functions can be registered', async () => {
    const schema = z.object({ city: z.string() })
    const measure = ({ city }: { city: string }) => city.length
    await using yard = await createToolyard({
      tools: [
        ...fromAiSdk({ ai: aiTool({ description: 'AI SDK', inputSchema: schema, execute: measure }) }),
        langchainTool(measure, { name: 'langchain', description: 'LangChain', schema }),
        tool({ name: 'plain', description: 'A function', input: schema, execute: measure }),
      ],
    })
    for (const name of ['ai', 'langchain', 'plain'] as const) {
      expect(await yard.call(name, { city: 'Oslo' })).toMatchObject({ result: 4 })
      // @ts-expect-error: city is a number
      expect(await yard.call(name, { city: 7 })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    }
  })

  test('[11.2-5] The package has the subpaths toolyard, toolyard/server, toolyard/mcp, toolyard/ai-sdk, toolyard/langchain, toolyard/openai-agents and toolyard/testing', async () => {
    const exported: Record<string, { types: string; default: string } | string> = manifest.exports
    const subpaths = Object.keys(exported).filter((name) => typeof exported[name] === 'object')
    const names = subpaths.map((name) => `toolyard${name.slice(1)}`)
    expect(names.sort()).toEqual([
      'toolyard',
      'toolyard/ai-sdk',
      'toolyard/langchain',
      'toolyard/mcp',
      'toolyard/openai-agents',
      'toolyard/server',
      'toolyard/testing',
    ])
    const program = `await Promise.all(${JSON.stringify(names)}.map((name) => import(name)))`
    const args = ['-C', 'toolyard-source', '--input-type=module', '-e', program]
    const printed = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
    expect(printed).toEqual({ stdout: '', stderr: '' })
  })

  test('[11.2-6] Importing toolyard loads no server, no MCP, no telemetry and no model package. Those load when used', async () => {
    const groups = await loadedFiles(fileURLToPath(new URL('../src/index.ts', import.meta.url)))
    expect([...groups.keys()].sort()).toEqual(['lru-cache', 'toolyard'])
    const folders = new Set(groups.get('toolyard')?.map((url) => /\/src\/([^/]+)/.exec(url)?.[1]))
    for (const heavy of ['server', 'mcp', 'telemetry', 'storage', 'knowledge', 'app'])
      expect(folders).not.toContain(heavy)
  })
})
