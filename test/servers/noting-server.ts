/** An MCP server whose work leaves a trace: `node noting-server.ts FILE` adds a line to the file for each run. */
import { appendFileSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const [, , file = ''] = process.argv
const server = new McpServer({ name: 'notes', version: '1.0.0' })
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

server.registerTool(
  'note',
  { description: 'Writes a note.', inputSchema: z.object({ id: z.string() }) },
  async ({ id }) => {
    appendFileSync(file, `${id}\n`)
    await later(30)
    return text(`noted ${id}`)
  },
)
server.registerTool(
  'look',
  {
    description: 'Looks for a while.',
    annotations: { readOnlyHint: true },
    inputSchema: z.object({ id: z.string(), ms: z.number() }),
  },
  async ({ id, ms }) => {
    // With the server that it works for.
    appendFileSync(file, `${id} ${process.ppid}\n`)
    await later(ms)
    return text(`seen ${id}`)
  },
)

await server.connect(new StdioServerTransport())
