import { basename } from 'node:path'
import { jsonrepair } from 'jsonrepair'
import { isSecretText } from '../../config/config-text.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { type NewSecrets, serviceOf } from './references.ts'
import { SetupError } from './setup-error.ts'

type Entry = Readonly<Record<string, unknown>>
export type Entries = Readonly<Record<string, Entry>>

const MAX_SERVERS = 20
/** Repairing takes quadratic time: about 100 ms for this length. */
const MAX_REPAIRED = 32_768
const MAX_ENTRY_CHARACTERS = 65_536
const NAME = /^[A-Za-z0-9][A-Za-z0-9_. -]{0,63}$/

/** Reads MCP servers as other clients write them: `mcpServers`, `servers`, the entries alone, one entry, or a URL. */
export function pastedServers(text: string): Entries {
  const trimmed = text.trim()
  if (/^https?:\/\/\S+$/i.test(trimmed)) return { [nameOf(trimmed)]: { url: trimmed } }
  // A part of a file often has no braces around it.
  const whole = trimmed.startsWith('"') ? `{${trimmed}}` : trimmed
  const value = readLoosely(whole)
  if (!isObject(value)) {
    throw new SetupError(
      422,
      'This is neither JSON nor a URL: paste "mcpServers" of another client, or the URL of a server',
    )
  }
  const servers = [value.mcpServers, value.servers, Object(value.mcp).servers].find(isObject)
  if (servers !== undefined) return checkedServers(servers)
  if (typeof value.command === 'string') return checkedServers({ [nameOf(value.command)]: value })
  if (typeof value.url === 'string') return checkedServers({ [nameOf(value.url)]: value })
  return checkedServers(value)
}

/** JSON that may have comments and commas at the end. */
function readLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    if (text.length > MAX_REPAIRED) {
      throw new SetupError(
        422,
        'This is not valid JSON, and too long to be repaired: correct it, or paste a part of it',
      )
    }
  }
  try {
    const repaired = jsonrepair(text)
    const ends = (one: string): number => one.split('}').length
    // What is missing at the end is not made up.
    return ends(repaired) > ends(text) ? undefined : JSON.parse(repaired)
  } catch {
    return undefined
  }
}

/** A name for a server without one: its service, or its program. */
function nameOf(reach: string): string {
  const host = URL.parse(reach)?.hostname
  const name = host === undefined ? basename(reach) : serviceOf(host)
  return (
    name
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[-_]+|(?<![-_])[-_]+$/g, '')
      .slice(0, 40) || 'server'
  )
}

/** Checks the form of servers. The configuration is checked as a whole later. */
export function checkedServers(servers: Readonly<Record<string, unknown>>): Entries {
  const entries = Object.entries(servers)
  if (entries.length === 0) throw new SetupError(422, 'There is no MCP server in it: add one with "command" or "url"')
  if (entries.length > MAX_SERVERS) {
    throw new SetupError(422, `These are ${entries.length} MCP servers: add at most ${MAX_SERVERS} at once`)
  }
  for (const [name, entry] of entries) {
    const shown = JSON.stringify(name.slice(0, 80))
    if (!NAME.test(name)) {
      throw new SetupError(422, `${shown} is not a name for an MCP server: use up to 64 letters, digits, _, . and -`)
    }
    if (!isObject(entry) || (typeof entry.command !== 'string' && typeof entry.url !== 'string')) {
      throw new SetupError(422, `The MCP server ${shown} has neither "command" nor "url": add one of them`)
    }
    if (JSON.stringify(entry).length > MAX_ENTRY_CHARACTERS) {
      throw new SetupError(422, `The entry of the MCP server ${shown} is longer than 64 KB: shorten it`)
    }
  }
  return Object.fromEntries(entries) as Entries
}

/** Moves the secrets in an entry to the store, and refers to them instead. */
export function withoutSecrets(name: string, entry: Entry, secrets: NewSecrets): Entry {
  const moved = (value: unknown, key: string, place: string, wanted: string): unknown =>
    typeof value === 'string' && isSecretText(key, value) ? secrets.found(wanted, value, place) : value
  const texts = (part: unknown, place: string, wanted: (key: string) => string): unknown =>
    isObject(part)
      ? Object.fromEntries(
          Object.entries(part).map(([key, value]) => [key, moved(value, key, `${place}.${key}`, wanted(key))]),
        )
      : part
  const place = `mcpServers.${name}`
  const { env, headers, oauth, args, url } = entry
  return {
    ...entry,
    ...(url !== undefined && { url: moved(url, 'url', `${place}.url`, `${name}_url`) }),
    ...(Array.isArray(args) && {
      // "--token abc": the word before says what the next one is.
      args: args.map((word, at) => moved(word, optionBefore(args, at), `${place}.args[${at}]`, `${name}_secret`)),
    }),
    ...(env !== undefined && { env: texts(env, `${place}.env`, (key) => key) }),
    ...(headers !== undefined && { headers: texts(headers, `${place}.headers`, (key) => `${name}_${key}`) }),
    ...(oauth !== undefined && { oauth: texts(oauth, `${place}.oauth`, (key) => `${name}_${key}`) }),
  }
}

function optionBefore(args: readonly unknown[], at: number): string {
  const before = args[at - 1]
  return typeof before === 'string' && /^--?[\w-]+$/.test(before) ? before : ''
}
