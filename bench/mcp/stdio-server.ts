/** The small server that every client calls: it answers line by line what it must, and checks nothing. */
import { DESCRIPTION, NAME, SCHEMA } from '../weather.ts'
import { weatherResult } from './weather-result.ts'

interface Asked {
  readonly id?: number
  readonly method: string
}

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1.0.0' },
  },
  'tools/list': { tools: [{ name: NAME, description: DESCRIPTION, inputSchema: SCHEMA }] },
  'tools/call': weatherResult(),
}

function answer(line: string): string {
  const { id, method } = JSON.parse(line) as Asked
  if (id === undefined) return ''
  const result = RESULTS[method]
  const error = { code: -32601, message: `There is no method '${method}'` }
  return `${JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) })}\n`
}

let rest = ''
process.stdin.setEncoding('utf8').on('data', (text: string) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  process.stdout.write(lines.map(answer).join(''))
})
