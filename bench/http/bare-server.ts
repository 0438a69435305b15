/** The least that can be called a server of tools: parses, validates with Ajv, runs, answers. All ratios are to this. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { floorExecutor } from '../floor.ts'
import { handler, type WeatherParams } from '../weather.ts'
import { reportUsage } from './report-usage.ts'

reportUsage()
const execute = floorExecutor(handler)

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    const asked = JSON.parse(String(Buffer.concat(chunks))) as { tool_name: string; params: WeatherParams }
    const result = await execute(asked.tool_name, asked.params)
    const text = JSON.stringify(result)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    response.writeHead(result.success ? 200 : 400, headers)
    response.end(text)
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
})
