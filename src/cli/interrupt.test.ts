import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test, vi } from 'vitest'

vi.setConfig({ testTimeout: 60_000 })

const at = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** `toolyard exec` with a tool that ends only when it is cancelled, and says so. */
const PROGRAM = `
const { exec } = await import(${at('./commands/exec.ts')})
const { openTerminal } = await import(${at('./terminal.ts')})
const { startManager } = await import(${at('./start-manager.ts')})
const { ToolHandlers } = await import(${at('../kinds/tool-handlers.ts')})
const handlers = new ToolHandlers()
handlers.register('wait', (_, { signal }) => new Promise(() => {
  const timer = setInterval(() => {}, 1000)
  signal.addEventListener('abort', () => {
    console.error('told to stop')
    clearInterval(timer)
  })
  console.error('waiting')
}))
const implementation = { type: 'internal', handler: 'wait' }
const tool = { name: 'wait', description: 'Waits.', parameters: { type: 'object' }, implementation }
const open = () => startManager({ tools: { enabled: true, registry: [tool] } }, {}, handlers)
process.exitCode = await exec(openTerminal(true), 'wait', [], { json: true }, open)
`

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s cancels the call and ends with %i', async (signal, expected) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM])
  let out = ''
  let err = ''
  child.stdout.on('data', (text) => {
    out += text
  })
  child.stderr.on('data', (text) => {
    err += text
    if (String(text).includes('waiting')) child.kill(signal)
  })
  const [code] = await once(child, 'close')
  expect({ code, err }).toEqual({ code: expected, err: 'waiting\ntold to stop\n' })
  expect(JSON.parse(out)).toMatchObject({ success: false, error_code: 'CANCELLED', tool_name: 'wait' })
})
