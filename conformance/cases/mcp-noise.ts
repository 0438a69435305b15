import type { Case } from '../case.ts'
import { START_MS } from '../probe.ts'
import { comeUp } from '../settle.ts'

export const mcpNoise: Case = {
  id: 'mcp-noise',
  title: 'An MCP server that prints other text to its output can still be used',
  why: 'One console.log in a server, and none of its tools work.',
  thread: 'editor-code-assistant/eca#298',
  needs: ['mcp-stdio'],
  async run(probe) {
    const runtime = await probe.start({ mcpServers: { files: probe.stdioServer('--noisy') } })
    for (const text of ['one', 'two', 'three']) {
      const call = () => runtime.call('echo', JSON.stringify({ text }))
      await comeUp(call, `echo: ${text}`, START_MS, `The call "${text}"`)
    }
  },
}
