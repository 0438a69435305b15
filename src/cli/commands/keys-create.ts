import { randomUUID } from 'node:crypto'
import { hashApiKey, newApiKey } from '../../config/callers/api-key.ts'
import { ROLES, type Scope } from '../../config/callers/scopes.ts'
import { LOCAL_TENANT } from '../../core/call.ts'
import type { Role, StoredKey } from '../../core/storage/key-store.ts'
import type { GlobalOptions } from '../global-options.ts'
import { withStore } from '../open.ts'
import { printableLine } from '../printable.ts'
import { tenantName } from '../tenant-name.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface KeysCreateOptions extends GlobalOptions {
  readonly tenant?: string
  readonly name?: string
  readonly role: Role
  readonly scope?: readonly Scope[]
  readonly allTenants?: boolean
  readonly callsPerMinute?: string
  readonly expires?: string
}

const LONGEST_NAME = 100
const MOST_CALLS = 10_000_000
const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `toolyard keys create`: makes a key. Its text is the result, and is never shown again. */
export async function keysCreate(terminal: Terminal, options: KeysCreateOptions): Promise<number> {
  const key = newApiKey()
  const stored = storedKey(key, options, Date.now())
  await withStore(terminal, options, (storage) => storage.keys.create(stored))
  const { hash: _, revoked_at: __, ...shown } = stored
  if (terminal.json) {
    terminal.document({ key, ...shown })
    return 0
  }
  terminal.result(key)
  const { name, tenant, role, id, expires_at } = stored
  const until = expires_at === null ? '' : `, valid until ${expires_at}`
  terminal.note(`Key '${printableLine(name)}' of tenant '${tenant}', role ${role}${until}. Its id is ${id}.`)
  terminal.note('This is the only time that the key is shown: keep it where secrets are kept.')
  return 0
}

function storedKey(key: string, options: KeysCreateOptions, now: number): StoredKey {
  const { role, name, callsPerMinute, expires } = options
  const id = randomUUID()
  return {
    id,
    hash: hashApiKey(key),
    tenant: tenantName(options.tenant ?? LOCAL_TENANT),
    name: readName(name ?? `key-${id.slice(0, 8)}`),
    role,
    scopes: readScopes(options),
    calls_per_minute: callsPerMinute === undefined ? null : readCalls(callsPerMinute),
    created_at: new Date(now).toISOString(),
    expires_at: expires === undefined ? null : readExpiry(expires, now),
    revoked_at: null,
  }
}

function readName(text: string): string {
  if (text.trim() !== '' && text.length <= LONGEST_NAME && !/\p{Cc}/u.test(text)) return text
  throw new UsageError(`--name takes 1 to ${LONGEST_NAME} characters on one line, not '${printableLine(text)}'.`)
}

/** Null where the key may do all that its role may, and nothing else. */
function readScopes({ role, scope, allTenants }: KeysCreateOptions): readonly Scope[] | null {
  const more = scope?.find((one) => !ROLES[role].includes(one))
  if (more !== undefined) {
    throw new UsageError(`The role '${role}' has no scope '${more}', only ${ROLES[role].join(', ')}.`)
  }
  if (!allTenants) return scope === undefined ? null : [...new Set(scope)]
  return [...new Set<Scope>([...(scope ?? ROLES[role]), 'installation'])]
}

function readCalls(text: string): number {
  const calls = Number(text)
  if (/^\d+$/.test(text) && calls >= 1 && calls <= MOST_CALLS) return calls
  throw new UsageError(`--calls-per-minute takes a whole number from 1 to ${MOST_CALLS}, not '${printableLine(text)}'.`)
}

/** `90d`, `12h`, `30m`, or a date. */
function readExpiry(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text)
  const at = unit ? now + Number(count) * UNITS[unit as keyof typeof UNITS] : isDate ? Date.parse(text) : Number.NaN
  if (at > now && at < Date.UTC(9999, 0)) return new Date(at).toISOString()
  throw new UsageError(
    `--expires takes a time to come, such as 90d, 12h, 30m or 2030-01-31, not '${printableLine(text)}'.`,
  )
}
