import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs a version of the suite: what it prints, and whether it was content. */
export function runSuite(folder: string, args: readonly string[]): Promise<{ printed: string; passed: boolean }> {
  const program = fileURLToPath(new URL(`suite/node_modules/${folder}/dist/index.js`, import.meta.url))
  const child = spawn(process.execPath, ['--disable-warning=DEP0190', program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return new Promise((resolve, reject) => {
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
    }
    child.on('error', reject)
    child.on('close', (code) => resolve({ printed, passed: code === 0 }))
  })
}
