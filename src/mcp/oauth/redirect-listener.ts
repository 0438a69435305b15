import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../core/clock.ts'

const PATH = '/callback'
const HEADERS = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' }

interface Wait {
  /** What the answer must carry; anything else is turned away, and the wait goes on. */
  readonly state: string
  readonly ms: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Listens on this machine alone for the browser that comes back from an authorization server. */
export class RedirectListener {
  readonly url: string
  readonly #server: Server
  #offer: (answer: URLSearchParams) => boolean = () => false

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`
    server.on('request', ({ method, url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, this.url)
      const taken = method === 'GET' && pathname === PATH && this.#offer(searchParams)
      const said = taken ? 'Toolyard has the answer. You can close this page.' : 'Nobody waits for this answer.'
      response.writeHead(taken ? 200 : 400, HEADERS).end(`${said}\n`)
    })
  }

  /** On any free port, unless the address was registered by somebody. */
  static async open(port = 0): Promise<RedirectListener> {
    const server = createServer().listen(port, '127.0.0.1')
    // Rejects where the port is in use.
    await once(server, 'listening')
    return new RedirectListener(server)
  }

  /** The parameters that the browser brings; undefined where it does not come in time. */
  answer({ state, ms, clock, signal }: Wait): Promise<URLSearchParams | undefined> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        callOff()
        signal.removeEventListener('abort', abort)
        this.#offer = () => false
      }
      const abort = (): void => {
        end()
        reject(signal.reason)
      }
      const callOff = clock.after(ms, () => {
        end()
        resolve(undefined)
      })
      this.#offer = (answer) => {
        if (answer.get('state') !== state) return false
        end()
        resolve(answer)
        return true
      }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort)
    })
  }

  /** Lets the last page be written, and ends. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeIdleConnections()
    await closed
  }
}
