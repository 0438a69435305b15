import { ROLES } from '../../config/callers/scopes.ts'
import type { StoredKey } from '../../core/storage/key-store.ts'
import type { GlobalOptions } from '../global-options.ts'
import { readStore } from '../open.ts'
import { showTable } from '../show-table.ts'
import { tenantName } from '../tenant-name.ts'
import type { Terminal } from '../terminal.ts'

export interface KeysListOptions extends GlobalOptions {
  readonly tenant?: string
}

/** `toolyard keys list`: who has a key, and what it may do; never the keys nor their hashes. */
export async function keysList(terminal: Terminal, options: KeysListOptions): Promise<number> {
  const tenant = options.tenant === undefined ? undefined : tenantName(options.tenant)
  const all = await readStore(terminal, options, ({ keys }) => keys.list(), [])
  const listed = all
    .filter((key) => tenant === undefined || key.tenant === tenant)
    .map(({ hash: _, ...key }) => ({ ...key, state: stateOf(key, Date.now()) }))
  if (terminal.json) terminal.document({ keys: listed })
  else if (listed.length === 0) {
    terminal.note(
      `There are no keys${tenant === undefined ? '' : ` of tenant '${tenant}'`} yet: "toolyard keys create".`,
    )
  } else showTable(terminal, [HEAD, ...listed.map(rowOf)])
  return 0
}

const HEAD = ['ID', 'TENANT', 'NAME', 'ROLE', 'MAY', 'STATE']

type Listed = Omit<StoredKey, 'hash'> & { readonly state: string }

function rowOf({ id, tenant, name, role, scopes, calls_per_minute, state, expires_at, revoked_at }: Listed): string[] {
  const may = scopes === null ? `${ROLES[role].join(' ')}` : scopes.join(' ')
  const limit = calls_per_minute === null ? '' : ` (${calls_per_minute} calls a minute)`
  const since = {
    active: expires_at === null ? '' : ` until ${expires_at}`,
    expired: ` ${expires_at}`,
    revoked: ` ${revoked_at}`,
  }
  return [id, tenant, name, role, `${may}${limit}`, `${state}${since[state as keyof typeof since]}`]
}

function stateOf({ revoked_at, expires_at }: Omit<StoredKey, 'hash'>, now: number): 'active' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active'
}
