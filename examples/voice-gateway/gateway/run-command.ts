import { spawn } from 'node:child_process'

export interface CommandOptions {
  readonly input?: string | Uint8Array
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

const MOST_OUTPUT = 64 * 1024

/** Runs a program to its end, without a shell, and gives what it printed. It is killed at its deadline and on abort. */
export function runCommand(command: readonly string[], { input, timeoutMs, signal }: CommandOptions): Promise<string> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    const parts: Buffer[] = []
    let size = 0
    let ending: Error | undefined
    const end = (reason: Error): void => {
      ending ??= reason
      child.kill('SIGKILL')
    }
    const timer = setTimeout(() => end(new Error(`${program} took longer than ${timeoutMs / 1000} s`)), timeoutMs)
    const aborted = (): void => end(new Error(`${program} was broken off`))
    signal?.addEventListener('abort', aborted)
    child.stdout.on('data', (part: Buffer) => {
      size += part.length
      if (size <= MOST_OUTPUT) parts.push(part)
      else end(new Error(`${program} printed more than ${MOST_OUTPUT} bytes`))
    })
    // A program that does not read its input is no fault: its exit code counts.
    child.stdin.on('error', () => {})
    child.stdin.end(input ?? '')
    const over = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
    }
    child.once('error', (error: NodeJS.ErrnoException) => {
      over()
      reject(error.code === 'ENOENT' ? new Error(`${program} is not installed`) : error)
    })
    child.once('close', (code) => {
      over()
      if (ending !== undefined) reject(ending)
      else if (code !== 0) reject(new Error(`${program} ended with ${code}`))
      else resolve(Buffer.concat(parts).toString('utf8'))
    })
  })
}
