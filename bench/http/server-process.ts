import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { UsageQuestion } from './report-usage.ts'
import type { Usage } from './usage.ts'

/** How long a server may take to listen, and to end. */
const STARTING_MS = 60_000
const ENDING_MS = 20_000

/** A server in a process of its own, which prints `{"url": …}` when it listens and tells what it uses. */
export class ServerProcess {
  readonly url: string
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
    this.port = Number(new URL(url).port)
  }

  static async start(program: URL, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
    const child = fork(program, args, {
      execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, ...env },
    })
    try {
      return new ServerProcess(child, await urlOf(child, String(program)))
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  /** Settles when the process has ended, however that came. */
  get ended(): Promise<unknown> {
    return this.#child.exitCode === null && this.#child.signalCode === null
      ? once(this.#child, 'exit')
      : Promise.resolve()
  }

  async usage({ collected = false } = {}): Promise<Usage> {
    const answered = once(this.#child, 'message', { signal: AbortSignal.timeout(STARTING_MS) })
    this.#child.send({ usage: { collected } } satisfies UsageQuestion)
    const [{ usage }] = (await answered) as [{ readonly usage: Usage }]
    return usage
  }

  /** Asks it to end, and makes it where it does not. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), ENDING_MS)
    const ended = this.ended
    this.#child.kill('SIGTERM')
    await ended
    clearTimeout(timer)
  }
}

/** Waits for the first line on its standard output; what comes after is read and left alone. */
function urlOf(child: ChildProcess, name: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new Error(`${name} does not listen after ${STARTING_MS} ms.`)), STARTING_MS)
  child.once('error', reject)
  child.once('exit', (code, signal) => reject(new Error(`${name} ended with ${signal ?? code} before it listened.`)))
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    if (text.includes('"url"')) return
    text += part
    const [, url] = /"url":\s*"([^"]+)"/.exec(text) ?? []
    if (url !== undefined) resolve(url)
  })
  return promise.finally(() => clearTimeout(timer))
}
