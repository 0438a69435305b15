import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

/**
 * Closes what Node's permission model leaves open and a handler has no use for: signals to other processes (our own
 * parent among them), their priority and their debugger. `abort` becomes an ordinary exit, so that the signal means
 * one thing only: no memory left.
 */
export function lockDown(): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  const refuse = (name: string) => () => {
    throw Object.assign(new Error(`${name} is not available in an isolated handler`), { code: 'ERR_ACCESS_DENIED' })
  }
  for (const name of ['kill', '_kill', '_debugProcess', '_debugEnd']) {
    Object.defineProperty(process, name, { value: refuse(`process.${name}`), writable: false, configurable: false })
  }
  Object.defineProperty(process, 'abort', { value: () => process.exit(134), writable: false, configurable: false })
  os.setPriority = refuse('os.setPriority')
  syncBuiltinESMExports()
}
