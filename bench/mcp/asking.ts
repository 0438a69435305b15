import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { PreparedCall } from '../contender.ts'
import { NAME, PARAMS, WEATHER } from '../weather.ts'
import { IN_FLIGHT } from './in-flight.ts'
import type { Era } from './mcp-server.ts'

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const SESSION_VERSION = '2025-11-25'
const STATELESS_VERSION = '2026-07-28'
const CLIENT = { name: 'bench', version: '1.0.0' }
const META = {
  'io.modelcontextprotocol/protocolVersion': STATELESS_VERSION,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
}
/** What a request that stands for itself says in its headers. */
export const STATELESS_HEADERS = {
  'mcp-protocol-version': STATELESS_VERSION,
  'mcp-method': 'tools/call',
  'mcp-name': NAME,
}

/** Calls the weather tool of a server over HTTP, and is sure of each answer. */
export async function asking(url: string, era: Era): Promise<PreparedCall> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  const headers = era === 'stateless' ? STATELESS_HEADERS : await openSession(url, agent)
  let id = 0
  return async () => {
    const message = weatherCall(++id, era)
    const { status, text } = await post(url, agent, message, headers)
    if (status !== 200 || !text.includes(WEATHER.condition)) throw new Error(`${url} answered ${status}: ${text}`)
  }
}

/** The message that calls the weather tool. */
export const weatherCall = (id: number, era: Era) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: NAME, arguments: PARAMS, ...(era === 'stateless' && { _meta: META }) },
})

async function openSession(url: string, agent: Agent): Promise<Record<string, string>> {
  const params = { protocolVersion: SESSION_VERSION, capabilities: {}, clientInfo: CLIENT }
  const opened = await post(url, agent, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, {})
  // Whoever gives out no session, as the raw echo does, gets one named all the same.
  const session = String(opened.headers['mcp-session-id'] ?? 'bench')
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': SESSION_VERSION }
  await post(url, agent, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
  return headers
}

function post(url: string, agent: Agent, message: object, headers: Record<string, string>): Promise<Answer> {
  const body = JSON.stringify(message)
  const sent = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', agent, headers: sent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
