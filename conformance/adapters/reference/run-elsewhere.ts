import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Tool } from '../../adapter.ts'

const CHILD = fileURLToPath(new URL('./run-handler.ts', import.meta.url))

/** Runs a handler in a process with little memory, which is killed when the signal says so. */
export function runElsewhere(
  { module, export: name }: NonNullable<Tool['untrusted']>,
  params: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [module, name, JSON.stringify(params)], {
      execArgv: ['--max-old-space-size=64'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const end = () => child.kill('SIGKILL')
    signal.addEventListener('abort', end, { once: true })
    child.on('message', (message) => resolve((message as { result: unknown }).result))
    child.on('error', reject)
    child.on('exit', () => {
      signal.removeEventListener('abort', end)
      reject(new Error('the process of the tool ended'))
    })
  })
}
