import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectionCode } from '../../../core/failure.ts'
import { AddressRules } from './address-rules.ts'
import { ask } from './fixtures/ask.ts'
import { NOT_DIALLED, recordedAgent } from './fixtures/recorded-agent.ts'
import { type AgentParts, type DialTarget, guardedAgent, guardedFetch } from './guarded-agent.ts'
import { RefusedAddress } from './network-rules.ts'

const open = new AddressRules(['127.0.0.1/32'])
const closed = new AddressRules()

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return String((server.address() as AddressInfo).port)
}

function agentWith(addresses: AddressRules, parts: AgentParts = {}) {
  const agent = guardedAgent(addresses, parts)
  onTestFinished(() => agent.destroy())
  return agent
}

const failingWith = (code: string) => Object.assign(new Error(code), { code })

describe('guardedFetch', () => {
  test('reaches the configured server, and no private address that it redirects to', async () => {
    const asked: string[] = []
    const inside = await serve((request, response) => {
      asked.push(request.url ?? '')
      response.end('secret')
    })
    const port = await serve((request, response) => {
      if (request.url === '/away') response.writeHead(302, { location: `http://127.0.0.1:${inside}/x` }).end()
      else response.end('hello')
    })
    const own = new URL(`http://127.0.0.1:${port}/mcp`)
    const guarded = guardedFetch(own)
    expect(await (await guarded(own)).text()).toBe('hello')
    const refusal = "The host '127.0.0.1' was refused: it is a loopback address"
    await expect(guarded(new URL('/away', own))).rejects.toThrow(refusal)
    await expect(guarded(`http://127.0.0.1:${inside}/x`)).rejects.toThrow(refusal)
    expect(asked).toEqual([])
    const opened = guardedFetch(own, ['127.0.0.1'])
    expect(await (await opened(new URL('/away', own))).text()).toBe('secret')
  })

  test('checks names that resolve to private addresses, and dials none of them', async () => {
    const dialled: DialTarget[] = []
    const guarded = guardedFetch(new URL('https://mcp.example/mcp'), [], {
      lookup: async () => ['10.0.0.7'],
      dial: async (target) => {
        dialled.push(target)
        throw failingWith(NOT_DIALLED)
      },
    })
    await expect(guarded('https://login.example/token')).rejects.toThrow("The host 'login.example' was refused")
    await expect(guarded('https://mcp.example:8443/mcp')).rejects.toThrow("The host 'mcp.example' was refused")
    expect(dialled).toEqual([])
    // The operator configured this one, wherever it is.
    await expect(guarded('https://mcp.example/other')).rejects.toThrow('fetch failed')
    expect(dialled).toHaveLength(1)
  })
})

describe('a real server', () => {
  test('is reached only if its address is opened', async () => {
    const port = await serve((_request, response) => response.end('hello'))
    const url = new URL(`http://127.0.0.1:${port}/`)
    expect(await ask(agentWith(open), url)).toEqual({ status: 200, text: 'hello' })
    expect(await ask(agentWith(closed), url)).toBeInstanceOf(RefusedAddress)
    expect(await ask(agentWith(new AddressRules(['127.0.0.2'])), url)).toBeInstanceOf(RefusedAddress)
  })

  test('is reached by name, at the address that was checked', async () => {
    const port = await serve((request, response) => response.end(request.headers.host))
    const agent = agentWith(open, { lookup: async () => ['127.0.0.1'] })
    expect(await ask(agent, new URL(`http://api.example.com:${port}/`))).toEqual({
      status: 200,
      text: `api.example.com:${port}`,
    })
  })

  test('is resolved once per connection', async () => {
    const sockets = new Set<Socket>()
    const port = await serve((request, response) => {
      sockets.add(request.socket)
      response.end('hello')
    })
    let lookUps = 0
    const lookup = async () => {
      lookUps++
      return ['127.0.0.1']
    }
    const agent = agentWith(open, { lookup })
    const url = new URL(`http://api.example.com:${port}/`)
    for (let round = 0; round < 20; round++) expect(await ask(agent, url)).toMatchObject({ status: 200 })
    expect(lookUps).toBe(sockets.size)
    expect(lookUps).toBeLessThan(5)
  })

  test('that closes the connection is looked up and checked again: the second answer is refused', async () => {
    const port = await serve((_request, response) => response.writeHead(200, { connection: 'close' }).end('hello'))
    const answers = [['127.0.0.1'], ['10.0.0.1']]
    const agent = agentWith(open, { lookup: async () => answers.shift() ?? [] })
    const url = new URL(`http://api.example.com:${port}/`)
    expect(await ask(agent, url)).toMatchObject({ status: 200 })
    expect(await ask(agent, url)).toBeInstanceOf(RefusedAddress)
  })

  test('is reached at its second address if the first does not answer', async () => {
    const port = await serve((_request, response) => response.end('hello'))
    const rules = new AddressRules(['127.0.0.0/8', '::1'])
    const agent = agentWith(rules, { lookup: async () => ['127.0.0.2', '127.0.0.1'] })
    expect(await ask(agent, new URL(`http://api.example.com:${port}/`))).toMatchObject({ status: 200 })
  })

  test('that sends more than 16 KB of headers is given up', async () => {
    const port = await serve((request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(Number(request.url?.slice(1))) }).end('hello')
    })
    const agent = agentWith(open)
    expect(await ask(agent, new URL(`http://127.0.0.1:${port}/15000`))).toMatchObject({ status: 200 })
    const failed = await ask(agent, new URL(`http://127.0.0.1:${port}/17000`))
    expect(failed).toMatchObject({ code: 'UND_ERR_HEADERS_OVERFLOW' })
  })

  test('has at most 256 connections', async () => {
    let most = 0
    const held: (() => void)[] = []
    const port = await serve((_request, response) => {
      most = Math.max(
        most,
        held.push(() => response.end()),
      )
      if (held.length === 256) setImmediate(() => setImmediate(() => release()))
    })
    const release = () => {
      for (const end of held.splice(0)) end()
    }
    const agent = agentWith(open)
    const url = new URL(`http://127.0.0.1:${port}/`)
    const asked = Array.from({ length: 512 }, () => ask(agent, url))
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 512 }, () => ({ status: 200, text: '' })))
    expect(most).toBe(256)
  })

  test('is forgotten with its last connection', async () => {
    const port = await serve((_request, response) => response.writeHead(200, { connection: 'close' }).end('hello'))
    const agent = agentWith(open)
    const gone = once(agent, 'disconnect')
    await ask(agent, new URL(`http://127.0.0.1:${port}/`))
    await gone
    expect(agent.stats).toEqual({})
  })
})

describe('dialling', () => {
  test('is a checked address, with the name for the certificate', async () => {
    const { agent, dialled } = recordedAgent(closed, [['93.184.215.14']])
    expect(await ask(agent, new URL('https://api.example.com.:8443/'))).toMatchObject({ code: NOT_DIALLED })
    expect(dialled).toEqual([
      {
        address: '93.184.215.14',
        port: '8443',
        protocol: 'https:',
        servername: 'api.example.com',
        hasNext: false,
      },
    ])
  })

  test('uses the address in the URL, which the certificate must match', async () => {
    const { agent, dialled, lookedUp } = recordedAgent(closed)
    await ask(agent, new URL('https://[2606:4700:4700::1111]/'))
    expect(dialled).toEqual([{ address: '2606:4700:4700::1111', port: '', protocol: 'https:', hasNext: false }])
    expect(lookedUp).toEqual([])
  })

  test('ignores a host header', async () => {
    const { agent, dialled, lookedUp } = recordedAgent(closed, [['93.184.215.14']])
    const headers = { host: 'localhost' }
    await agent.request({ origin: 'https://api.example.com', path: '/', method: 'GET', headers }).catch(() => undefined)
    expect(lookedUp).toEqual(['api.example.com'])
    expect(dialled).toMatchObject([{ address: '93.184.215.14', servername: 'api.example.com' }])
  })

  test('is one address after the other, families in turn, four at most, as long as they cannot be reached', async () => {
    const dialled: (readonly [string, boolean])[] = []
    const agent = agentWith(closed, {
      lookup: async () => ['2600::1', '2600::2', '2600::3', '1.1.1.1', '1.1.1.2'],
      dial: async ({ address, hasNext }) => {
        dialled.push([address, hasNext])
        throw failingWith('ENETUNREACH')
      },
    })
    const failed = await ask(agent, new URL('http://api.example.com/'))
    expect(connectionCode(failed)).toBe('ENETUNREACH')
    expect(dialled).toEqual([
      ['2600::1', true],
      ['1.1.1.1', true],
      ['2600::2', true],
      ['1.1.1.2', false],
    ])
  })

  test('is dialled side by side for requests that come together, also over TLS', async () => {
    const dialled: DialTarget[] = []
    const agent = agentWith(closed, {
      dial: (target) => {
        dialled.push(target)
        return new Promise(() => undefined)
      },
    })
    for (let asked = 0; asked < 3; asked++) ask(agent, new URL('https://1.1.1.1/'))
    await new Promise(setImmediate)
    expect(dialled).toHaveLength(3)
  })

  test.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'ECONNRESET'])('does not try another address after %s', async (code) => {
    let dialled = 0
    const agent = agentWith(closed, {
      lookup: async () => ['1.1.1.1', '1.1.1.2'],
      dial: async () => {
        dialled++
        throw failingWith(code)
      },
    })
    expect(await ask(agent, new URL('https://api.example.com/'))).toMatchObject({ code })
    expect(dialled).toBe(1)
  })
})

describe('origins', () => {
  test('do not reuse refused connections', async () => {
    const { agent } = recordedAgent(closed)
    for (let last = 0; last < 1_100; last++) {
      const failed = await ask(agent, new URL(`http://10.0.${last >> 8}.${last & 255}/`))
      expect(failed).toBeInstanceOf(RefusedAddress)
    }
    expect(agent.stats).toEqual({})
  })

  test('are 1,000 at most at a time', async () => {
    const agent = agentWith(closed, { dial: () => new Promise<Socket>(() => undefined) })
    const asked = Array.from({ length: 1_001 }, (_, last) =>
      ask(agent, new URL(`http://1.1.${last >> 8}.${last & 255}/`)),
    )
    expect(await asked.at(-1)).toMatchObject({ code: 'UND_ERR_MAX_ORIGINS_REACHED' })
    expect(Object.keys(agent.stats)).toHaveLength(1_000)
  })
})
