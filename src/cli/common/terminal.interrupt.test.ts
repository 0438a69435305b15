import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { BIN, ENV, emptyFolder, folder } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s cancels the call and exits with %i', async (signal, expected) => {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const implementation = { type: 'http', url, method: 'GET' }
  const wait = { name: 'wait', description: 'Waits.', parameters: { type: 'object' }, implementation }
  const file = join(folder, 'wait.json')
  const http = { allow_private: ['127.0.0.1'] }
  await writeFile(file, JSON.stringify({ tools: { enabled: true, registry: [wait] }, http }))
  const child = spawn(process.execPath, [BIN, 'exec', 'wait', '--json', '--config', file], { cwd: folder, env: ENV })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  const closed = once(child, 'close')
  const [, response] = await Promise.race([
    once(server, 'request'),
    closed.then(() => {
      throw new Error(`The command ended without a request: ${out}`)
    }),
  ])
  const cancelled = once(response, 'close')
  child.kill(signal)
  expect(await closed).toEqual([expected, null])
  await cancelled
  expect(JSON.parse(out)).toMatchObject({ success: false, error_code: 'CANCELLED', tool_name: 'wait' })
})
