import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { UsageQuestion } from './report-usage.ts'
import type { Usage } from './usage.ts'

/** How long a server may take to listen, and to end. */
const STARTING_MS = 60_000
const ENDING_MS = 20_000
/** How much of what it said last is kept, for when it ends. */
const LAST_WORDS = 2_000

/** A server in a process of its own, which prints `{"url": …}` when it listens and tells what it uses. */
export class ServerProcess {
  readonly url: string
  readonly port: number
  readonly #child: ChildProcess
  /** Aborts when the process has ended, however that came. */
  readonly #ended: AbortSignal

  private constructor(child: ChildProcess, url: string, ended: AbortSignal) {
    this.#child = child
    this.#ended = ended
    this.url = url
    this.port = Number(new URL(url).port)
  }

  static async start(program: URL, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
    const child = fork(program, args, {
      execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    })
    const ended = endOf(child, String(program))
    try {
      return new ServerProcess(child, await urlOf(child, ended), ended)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  async usage({ collected = false } = {}): Promise<Usage> {
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly usage: Usage }>()
    const gone = () => reject(this.#ended.reason)
    this.#ended.throwIfAborted()
    this.#ended.addEventListener('abort', gone)
    this.#child.once('message', resolve as (message: unknown) => void)
    this.#child.send({ usage: { collected } } satisfies UsageQuestion)
    const { usage } = await promise
    this.#ended.removeEventListener('abort', gone)
    return usage
  }

  /** Asks it to end, and makes it where it does not. */
  async close(): Promise<void> {
    if (this.#ended.aborted) return
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), ENDING_MS)
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
    clearTimeout(timer)
  }
}

function endOf(child: ChildProcess, name: string): AbortSignal {
  const ended = new AbortController()
  let words = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-LAST_WORDS)
  })
  child.once('error', (error) => ended.abort(error))
  child.once('exit', (code, signal) => ended.abort(new Error(`${name} has ended with ${signal ?? code}:\n${words}`)))
  return ended.signal
}

/** What it prints when it listens; what comes after is read and left alone. */
function urlOf(child: ChildProcess, ended: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new Error(`A server does not listen after ${STARTING_MS} ms.`)), STARTING_MS)
  ended.addEventListener('abort', () => reject(ended.reason))
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    if (text.includes('"url"')) return
    text += part
    const [, url] = /"url":\s*"([^"]+)"/.exec(text) ?? []
    if (url !== undefined) resolve(url)
  })
  return promise.finally(() => clearTimeout(timer))
}
