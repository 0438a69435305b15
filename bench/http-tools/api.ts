/** An API on this machine: one kilobyte of JSON over connections that stay open. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ANSWER } from './answer.ts'

const body = Buffer.from(JSON.stringify(ANSWER))
const headers = { 'content-type': 'application/json', 'content-length': body.length }

process.on('disconnect', () => process.exit(0))

const server = createServer({ keepAliveTimeout: 60_000 }, (_, response) => {
  response.writeHead(200, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
