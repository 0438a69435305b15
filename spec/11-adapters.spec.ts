import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadedFiles } from '../scripts/import-weight.ts'

describe('Adapters', () => {
  test.todo('[11.2-1] toAiSdk(yard) gives tools for generateText({tools})')
  test.todo('[11.2-2] toLangChain(yard) gives LangChain tools')
  test.todo('[11.2-3] toOpenAiAgents(yard) gives tools for OpenAI Agents')
  test.todo('[11.2-4] AI SDK tools, LangChain tools and plain functions can be registered')
  test.todo(
    '[11.2-5] The package has the subpaths toolyard, toolyard/server, toolyard/mcp, toolyard/ai-sdk, toolyard/langchain, toolyard/openai-agents and toolyard/testing',
  )
  test('[11.2-6] Importing toolyard loads no server, no MCP, no telemetry and no model package. Those load when used', async () => {
    const groups = await loadedFiles(fileURLToPath(new URL('../src/index.ts', import.meta.url)))
    expect([...groups.keys()].sort()).toEqual(['lru-cache', 'toolyard'])
    const folders = new Set(groups.get('toolyard')?.map((url) => /\/src\/([^/]+)/.exec(url)?.[1]))
    for (const heavy of ['server', 'mcp', 'telemetry', 'storage', 'knowledge', 'app'])
      expect(folders).not.toContain(heavy)
  })
})
