import { connect, type Socket } from 'node:net'

const MOST_BYTES = 64 * 1024
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
const LENGTH = /\r\ncontent-length: *(\d+)/i

/**
 * One connection, or with `fresh` one for each request, with one request under way at a time. It reads no more of an answer than it needs
 * to be sure of it, so that asking costs less than answering.
 */
export class Connection {
  readonly #port: number
  readonly #fresh: boolean
  #socket: Socket
  #isUsed = false
  readonly #expects: string
  readonly #answered: (connection: Connection) => void
  #rest = ''
  /** Which of the requests of a load is under way. */
  asked = 0

  private constructor(port: number, expects: string, answered: (connection: Connection) => void, fresh: boolean) {
    this.#port = port
    this.#fresh = fresh
    this.#expects = expects
    this.#answered = answered
    this.#socket = this.#dial()
  }

  #dial(): Socket {
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      // One buffer for all that is read: nothing is made anew for each answer.
      onread: { buffer: Buffer.allocUnsafe(MOST_BYTES), callback: (bytes, buffer) => this.#read(bytes, buffer) },
    })
    socket.on('error', fail)
    return socket.on('close', () => fail(new Error('A server closed a connection that it should have kept.')))
  }

  /** So many connections; `answered` is called at the end of every answer, which must be 200 and hold `expects`. */
  static async open(
    port: number,
    count: number,
    expects: string,
    answered: (connection: Connection) => void,
    fresh = false,
  ): Promise<Connection[]> {
    const all = Array.from({ length: count }, () => new Connection(port, expects, answered, fresh))
    await Promise.all(all.map((each) => new Promise((resolve) => each.#socket.once('connect', resolve))))
    return all
  }

  ask(request: string): void {
    if (this.#fresh && this.#isUsed) {
      this.close()
      this.#socket = this.#dial()
    }
    this.#isUsed = true
    this.#socket.write(request, 'latin1')
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy()
  }

  #read(bytes: number, buffer: Uint8Array): boolean {
    const text = this.#rest + (buffer as Buffer).toString('latin1', 0, bytes)
    if (!isWhole(text)) {
      this.#rest = text
      return true
    }
    this.#rest = ''
    if (!text.startsWith('HTTP/1.1 200') || !text.includes(this.#expects)) fail(new Error(`Not as expected: ${text}`))
    this.#answered(this)
    return true
  }
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return false
  const length = LENGTH.exec(text)?.[1]
  if (length !== undefined) return text.length >= head + 4 + Number(length)
  if (!CHUNKED.test(text)) fail(new Error(`A response has no length: ${text}`))
  return text.endsWith('\r\n0\r\n\r\n')
}

/** A load with a wrong answer in it has measured nothing. */
function fail(error: Error): never {
  console.error(error.message)
  process.exit(1)
}
