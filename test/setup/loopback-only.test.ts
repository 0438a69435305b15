import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { expect, test } from 'vitest'

test('a test that dials another machine fails at once, with a sentence that names it', async () => {
  expect(() => connect({ host: '192.0.2.1', port: 80 })).toThrow(/tried to connect to "192\.0\.2\.1"/)
  await expect(fetch('http://192.0.2.1/')).rejects.toMatchObject({
    cause: { message: expect.stringContaining('"192.0.2.1"') },
  })
})

test('a test may talk to a server on loopback', async () => {
  const server = createServer((_request, response) => response.end('here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here')
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
