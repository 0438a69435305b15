import type { GlobalOptions } from '../global-options.ts'
import { readStore } from '../open.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

/** `toolyard keys revoke`: from now on the key opens nothing. */
export async function keysRevoke(terminal: Terminal, id: string, options: GlobalOptions): Promise<number> {
  const known = await readStore(terminal, options, ({ keys }) => keys.revoke(id, new Date().toISOString()), false)
  if (!known)
    throw new UsageError(`There is no key with the id '${printableLine(id)}'. "toolyard keys list" lists them.`)
  if (terminal.json) terminal.document({ id, revoked: true })
  else terminal.result(`Revoked ${printableLine(id)}`)
  return 0
}
