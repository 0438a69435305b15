import { changeFlags, isFlagName, LONGEST_FLAG } from '../../config/callers/tenant-flags.ts'
import { flagWords } from '../flag-words.ts'
import type { GlobalOptions } from '../global-options.ts'
import { withStore } from '../open.ts'
import { printableLine } from '../printable.ts'
import { tenantName } from '../tenant-name.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface TenantsSetOptions extends GlobalOptions {
  readonly unset?: readonly string[]
}

/** `toolyard tenants set`: stores flags of a tenant; others that are stored stay as they are. */
export async function tenantsSet(
  terminal: Terminal,
  name: string,
  words: readonly string[],
  options: TenantsSetOptions,
): Promise<number> {
  const tenant = tenantName(name)
  const set = new Map(words.map(readFlag))
  const unset = new Set((options.unset ?? []).map(flagName))
  if (set.size + unset.size === 0)
    throw new UsageError('Name the flags to set, such as search=true, or --unset search.')
  const both = [...set.keys()].find((flag) => unset.has(flag))
  if (both !== undefined) throw new UsageError(`The flag '${printableLine(both)}' cannot be both set and unset.`)
  const changes = new Map<string, boolean | null>([...set, ...[...unset].map((flag) => [flag, null] as const)])
  const flags = await withStore(terminal, options, ({ settings }) => changeFlags(settings, tenant, changes))
  if (terminal.json) terminal.document({ id: tenant, stored: flags })
  else terminal.result(printableLine(`${tenant}  ${flagWords(flags) || 'nothing stored'}`))
  return 0
}

function readFlag(word: string): [string, boolean] {
  const [, name, value] = /^(.*)=(true|false)$/s.exec(word) ?? []
  if (name !== undefined) return [flagName(name), value === 'true']
  throw new UsageError(`A flag is set by name=true or name=false, not by '${printableLine(word)}'.`)
}

function flagName(text: string): string {
  if (isFlagName(text)) return text
  throw new UsageError(
    `A flag is the name of a permission or of a tool, of up to ${LONGEST_FLAG} characters, not '${printableLine(text)}'.`,
  )
}
