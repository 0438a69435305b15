import type { Case } from '../case.ts'
import { START_MS } from '../probe.ts'
import { comeUp } from '../settle.ts'

export const mcpNoise: Case = {
  id: 'mcp-noise',
  title: 'An MCP server that prints what does not belong on its output can be used',
  why: 'One console.log in a server somebody else wrote, and none of its tools can be used.',
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
