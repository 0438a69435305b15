import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

export interface LivePageParts {
  /** What the page shows of the house just now. */
  readonly state: () => object
  readonly say: (text: string) => void
  readonly port?: number
}

export interface LivePage {
  readonly url: string
  /** Tells every open page. */
  tell(event: 'heard' | 'response', data: object): void
  /** Sends the state anew. */
  refresh(): void
  close(): Promise<void>
}

const MOST_PAGES = 20
const MOST_BODY = 16 * 1024
/** A page that has stopped reading is let go rather than kept in memory. */
const MOST_UNREAD = 1024 * 1024

/** Serves the page on loopback. It asks for nothing from anywhere else. */
export async function startPage({ state, say, port = 0 }: LivePageParts): Promise<LivePage> {
  const html = await readFile(new URL('./index.html', import.meta.url), 'utf8')
  const policy = `default-src 'none'; connect-src 'self'; style-src ${hashOf(html, 'style')}; script-src ${hashOf(html, 'script')}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`
  const pages = new Set<ServerResponse>()
  const send = (page: ServerResponse, event: string, data: object): void => {
    if (page.writableLength > MOST_UNREAD) page.destroy()
    else page.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const tell = (event: string, data: object): void => {
    for (const page of pages) send(page, event, data)
  }
  const server = createServer((request, response) => {
    const { method, url = '/' } = request
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    if (!isOurs(request)) return void response.writeHead(403).end('This page is for this machine only.')
    if (method === 'GET' && url === '/') {
      response.setHeader('Content-Security-Policy', policy)
      return void response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(html)
    }
    if (method === 'GET' && url === '/events') {
      if (pages.size >= MOST_PAGES) return void response.writeHead(503).end()
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      pages.add(response)
      response.once('close', () => pages.delete(response))
      return send(response, 'state', state())
    }
    if (method === 'POST' && url === '/say') return void take(request, response, say)
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://127.0.0.1:${taken}/`,
    tell,
    refresh: () => tell('state', state()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Other pages in the same browser can send requests here too: they give themselves away by `Origin` and `Host`. */
function isOurs({ headers, socket }: IncomingMessage): boolean {
  const hosts = ['127.0.0.1', 'localhost'].map((name) => `${name}:${socket.localPort}`)
  const { host = '', origin } = headers
  return hosts.includes(host) && (origin === undefined || hosts.includes(origin.replace(/^http:\/\//, '')))
}

async function take(request: IncomingMessage, response: ServerResponse, say: (text: string) => void): Promise<void> {
  const parts: Buffer[] = []
  let size = 0
  try {
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) return void response.writeHead(415).end()
    for await (const part of request as AsyncIterable<Buffer>) {
      size += part.length
      if (size > MOST_BODY) return void response.writeHead(413, { Connection: 'close' }).end()
      parts.push(part)
    }
    const { text } = Object(JSON.parse(Buffer.concat(parts).toString('utf8'))) as { text?: unknown }
    if (typeof text !== 'string') return void response.writeHead(400).end()
    say(text)
    response.writeHead(204).end()
  } catch {
    if (!response.headersSent) response.writeHead(400).end()
  }
}

/** Only what stands in the file itself is run. */
function hashOf(html: string, tag: 'style' | 'script'): string {
  const [, text = ''] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(html) ?? []
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
