import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { BIN, toolyard } from '../../src/cli/fixtures/toolyard.ts'

/** `toolyard serve` in a process of its own. */
export interface StartedServer {
  readonly url: string
  readonly process: ChildProcess
  /** What it has printed on stderr. */
  said(): string
  /** Ends it as a person would; gives its exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts a server on any free port, and waits until it says where it is. */
export async function startServer(
  env: Readonly<Record<string, string>>,
  cwd: string,
  program = BIN,
): Promise<StartedServer> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, [program, 'serve', '--port', '0', '--json'], {
    cwd,
    env: { PATH, HOME: cwd, TOOLYARD_LOG: 'warn', ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, said] = ['', '']
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      out += chunk
      if (!out.includes('\n')) return
      const { url } = JSON.parse(out)
      if (url === undefined) reject(new Error(`toolyard serve did not start: ${out}${said}`))
      else resolve(url)
    })
    exited.then(([code]) => reject(new Error(`toolyard serve ended with ${code}:\n${out}${said}`)))
  })
  return {
    url,
    process: child,
    said: () => said,
    async end(signal = 'SIGTERM') {
      child.kill(signal)
      return (await exited)[0]
    },
  }
}

/** Runs a command of Toolyard in this process; gives the document that it prints. */
export async function command(words: readonly string[], env: Readonly<Record<string, string>>, cwd: string) {
  const { code, out, err } = await toolyard([...words, '--json'], { env: { HOME: cwd, ...env }, cwd })
  if (out === '') throw new Error(`toolyard ${words.join(' ')} ended with ${code} and printed nothing:\n${err}`)
  return { code, document: JSON.parse(out) }
}
