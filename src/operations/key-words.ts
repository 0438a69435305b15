import type { Roles } from '../config/roles.ts'
import { OperationError } from '../core/operation/operation-error.ts'
import type { KeyBudget } from '../core/storage/key-store.ts'
import type { ShownKey } from './key-rules.ts'
import type { Typed } from './operation.ts'

/** Reads `10/month` or `0.5/day:warn`. */
export function readBudget(text: unknown): KeyBudget {
  const [, amount, per, action] = /^(\d{1,9}(?:\.\d{1,6})?)\/(day|month)(?::(warn|refuse))?$/.exec(String(text)) ?? []
  if (amount === undefined) {
    const takes = 'an amount per day or month, such as 10/month or 0.5/day:warn'
    throw new OperationError('invalid', `--budget takes ${takes}, not '${text}'`)
  }
  const budget = { per: per as KeyBudget['per'], amount: Number(amount) }
  return action === undefined ? budget : { ...budget, action: action as 'warn' | 'refuse' }
}

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Reads `90d`, `12h`, `30m` or a date. */
export function readExpiry(text: unknown): string {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(String(text)) ?? []
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(String(text))
  const now = Date.now()
  const time = unit ? now + Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS] : Date.parse(String(text))
  if ((unit || isDate) && time > now && time < Date.UTC(9999, 0)) return new Date(time).toISOString()
  const takes = 'a time in the future, such as 90d, 12h, 30m or 2030-01-31'
  throw new OperationError('invalid', `--expires takes ${takes}, not '${text}'`)
}

/** Reads `30m` or `2h`, in minutes. */
export function readGrace(text: unknown): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([mh])$/.exec(String(text)) ?? []
  const minutes = (Number(count) * UNITS_MS[unit as 'm' | 'h']) / UNITS_MS.m
  if (count !== '' && minutes <= 24 * 60) return minutes
  throw new OperationError('invalid', `--grace is 0m to 24h, such as 30m or 2h, not '${text}'`)
}

/** The word for null, and what reads others. */
type Reading = readonly [nothing: string | undefined, read?: (text: unknown) => unknown]

/** The fields that were typed, each read by its function unless it is the word for null. */
export function readTyped(typed: Typed, words: Readonly<Record<string, Reading>>) {
  const entries = Object.entries(typed).map(([field, value]) => {
    const [nothing, read] = words[field] ?? []
    const isNothing = Array.isArray(value) ? value.includes(nothing) : value === nothing
    return [field, nothing !== undefined && isNothing ? null : (read?.(value) ?? value)]
  })
  return Object.fromEntries(entries)
}

export const KEY_HEAD = ['ID', 'TENANT', 'NAME', 'ROLE', 'SCOPES', 'STATE']

/** Whether a key is valid. */
export function stateOf({ revoked_at, expires_at }: ShownKey): 'active' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active'
}

/** A row of the table of keys. */
export function keyRow(key: ShownKey, roles: Roles): string[] {
  const { id, tenant = '', name, role, scopes, tools, models, calls_per_minute, budget, expires_at, revoked_at } = key
  const limits = [
    ...(tools === null ? [] : [`tools ${tools.join(' ')}`]),
    ...(models === null ? [] : [`models ${models.join(' ')}`]),
    ...(calls_per_minute === null ? [] : [`${calls_per_minute} calls per minute`]),
    ...(budget ? [`budget ${budget.amount} a ${budget.per}`] : []),
  ]
  const limit = limits.length === 0 ? '' : ` (${limits.join(', ')})`
  const since = {
    active: expires_at === null ? '' : ` until ${expires_at}`,
    expired: ` ${expires_at}`,
    revoked: ` ${revoked_at}`,
  }
  const may = roles.has(role) ? (scopes ?? roles.get(role)?.scopes ?? []).join(' ') : 'nothing: unknown role'
  const state = stateOf(key)
  return [id, tenant, name, role, `${may}${limit}`, `${state}${since[state]}`]
}
