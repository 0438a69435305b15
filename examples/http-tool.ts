/** An HTTP API as a tool. The API is a small one on this machine, so that the example needs no network. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { silentLog, ToolManager } from 'toolyard'

const api = createServer((request, response) => {
  const known = request.url === '/users/7' && request.headers.authorization === 'Bearer not-for-models'
  response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(known ? { data: { name: 'Ann', key: 'not-for-models' } } : { problem: 'no such user' }))
})
await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))

const tool = {
  name: 'get_user',
  description: 'Get a user by id.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  implementation: {
    type: 'http',
    url: `http://127.0.0.1:${(api.address() as AddressInfo).port}/users/{id}`,
    auth: { type: 'bearer', token: '${USERS_TOKEN}' },
    response_path: '$.data',
  },
}
const config = {
  tools: { enabled: true, registry: [tool] },
  // Nothing inside can be reached unless it is opened here.
  http: { allow_private: ['127.0.0.1'] },
}
const manager = new ToolManager(config, { log: silentLog, env: { USERS_TOKEN: 'not-for-models' } })
await manager.loadTools()
for (const id of ['7', '8', '../admin']) console.log(await manager.getExecutor().execute('get_user', { id }))
await manager.close()
api.close()
