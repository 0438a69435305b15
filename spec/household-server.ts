/** An MCP server for scenarios, made with the official SDK: `node household-server.ts [fails-first FILE]`. */
import { existsSync, writeFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const [, , flag, file = ''] = process.argv
console.error('household server is starting')
if (flag === 'fails-first' && !existsSync(file)) {
  writeFileSync(file, '')
  process.exit(1)
}

const server = new McpServer({ name: 'household', version: '1.0.0' })
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

server.registerTool(
  'control_zwave_device',
  { description: 'Switches a device.', inputSchema: z.object({ deviceName: z.string(), action: z.string() }).strict() },
  async (args) => text(JSON.stringify(args)),
)
server.registerTool(
  'set_scene',
  {
    description: 'Sets a scene.',
    inputSchema: z.object({ room_name: z.string(), lightLevel: z.number(), moreOptions: z.any().optional() }).strict(),
  },
  async (args) => text(JSON.stringify(args)),
)
server.registerTool('look', { description: 'Looks.', annotations: { readOnlyHint: true } }, async () => text('dark'))
server.registerTool('dim', { description: 'Dims.', annotations: { idempotentHint: true } }, async () => text('dim'))
server.registerTool('ring', { description: 'Rings.' }, async () => text('rung'))
server.registerTool('fail', { description: 'Fails.' }, async () => ({ ...text('the lamp is broken'), isError: true }))
server.registerTool('die', { description: 'Ends the server.' }, async () => process.exit(1))
server.registerTool('chatter', { description: 'Prints on stdout.' }, async () => {
  process.stdout.write('Lamp 3 is warm\n')
  return text('done')
})
server.registerTool('learn', { description: 'Adds a tool.' }, async () => {
  server.registerTool('new_trick', { description: 'A trick.' }, async () => text('ta-da'))
  return text('learned')
})

await server.connect(new StdioServerTransport())
