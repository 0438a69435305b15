import { fork } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** Hardly a measurement takes this long: one that does hangs. */
const LONGEST_MS = 120_000

/** Runs one measurement of `measures/` in a fresh process, and gives what it found; `root` may be another checkout. */
export function measureInChild<Result>(
  measure: string,
  options: object,
  longestMs = LONGEST_MS,
  root = ROOT,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = fork(join(root, 'bench', 'measure.ts'), [measure, JSON.stringify(options)], {
      execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      timeout: longestMs,
      killSignal: 'SIGKILL',
    })
    let errors = ''
    child.stderr?.on('data', (data) => {
      errors = (errors + data).slice(-4000)
    })
    let result: { value: Result } | undefined
    child.on('message', (message) => {
      result = message as { value: Result }
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (result !== undefined) resolve(result.value)
      else reject(new Error(`The measurement '${measure}' ended with ${signal ?? code}:\n${errors}`))
    })
  })
}
