import { ownValue } from '../parts/own-value.ts'

export type ServerEntry = Readonly<Record<string, unknown>>
export type ServerEntries = Readonly<Record<string, ServerEntry>>

/** What somebody has pasted: servers by name, or why there are none. */
export type ReadServers = { readonly servers: ServerEntries } | { readonly problem: string }

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isServer = (value: unknown): value is ServerEntry =>
  isObject(value) && (typeof value.command === 'string' || typeof value.url === 'string')

/** Reads `mcpServers` in the formats of common clients, the URL of a server, or the command that starts one. */
export function readServers(text: string): ReadServers | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  if (/^https?:\/\/\S+$/i.test(trimmed)) return readUrl(trimmed)
  if (/^["{]/.test(trimmed)) return readJson(trimmed)
  if (/^[\w./@~-]+(\s|$)/.test(trimmed) && !trimmed.includes('\n')) return readCommand(trimmed)
  return {
    problem: 'Paste JSON with mcpServers, a URL that starts with https://, or a command such as npx -y PACKAGE.',
  }
}

function readUrl(text: string): ReadServers {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return { problem: `"${text}" is not a valid URL.` }
  return { servers: { [nameFor(url.hostname.replace(/^(www|api|mcp)\./, ''))]: { url: text } } }
}

function readCommand(text: string): ReadServers {
  const [command = '', ...args] = wordsOf(text)
  const thing = args.find((word) => !word.startsWith('-')) ?? command
  return { servers: { [nameFor(thing)]: { command, ...(args.length > 0 && { args }) } } }
}

/** The words of a command line. Quotes keep a word together. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? '')

function readJson(text: string): ReadServers {
  const parsed = parse(text)
  if (typeof parsed === 'string') return { problem: parsed }
  const found = serversIn(parsed.value)
  if (found === undefined) return { problem: 'The JSON has no mcpServers. Each server needs a "url" or a "command".' }
  const wrong = Object.keys(found).find((name) => !isServer(found[name]))
  if (wrong !== undefined) return { problem: `The server "${wrong}" needs a "url" or a "command".` }
  if (Object.keys(found).length === 0) return { problem: 'mcpServers is empty. Paste at least one server.' }
  return { servers: found as ServerEntries }
}

function serversIn(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isObject(value)) return undefined
  for (const key of ['mcpServers', 'servers', 'mcp']) {
    const inner = value[key]
    if (!isObject(inner) || isServer(inner)) continue
    return key === 'mcp' ? serversIn(inner) : inner
  }
  if (isServer(value)) return { [nameOfServer(value)]: value }
  const entries = Object.values(value)
  return entries.length > 0 && entries.every(isServer) ? value : undefined
}

function nameOfServer({ url, command, args }: ServerEntry): string {
  const read =
    typeof url === 'string' ? readUrl(url) : readCommand([command, ...(Array.isArray(args) ? args : [])].join(' '))
  return 'servers' in read ? (Object.keys(read.servers)[0] ?? 'server') : 'server'
}

/** Instructions often show a part of a file: with comments, a comma too many, or without the braces around it. */
function parse(text: string): { readonly value: unknown } | string {
  const plain = text.replace(/^\s*\/\/.*$/gm, '').replace(/,(?=\s*([}\]]|$))/g, '')
  let first: Error | undefined
  for (const attempt of [text, plain, `{${plain}}`]) {
    try {
      return { value: JSON.parse(attempt) }
    } catch (error) {
      first ??= error as Error
    }
  }
  return `This is not valid JSON: ${first?.message}`
}

/** Parts of a path that say nothing about a server. */
const NO_NAME = /^(index|main|cli|app|start|server|dist|build|lib|out|src|bin)?(\.[cm]?[jt]s|\.py)?$/i

/** `@modelcontextprotocol/server-filesystem@1.2` → `filesystem`, `shop.example.com` → `shop`, `notes/dist/index.js` → `notes`. */
function nameFor(thing: string): string {
  const parts = thing.replace(/(?<=.)@[^/]*$/, '').split(/[/\\]/)
  const last = parts.findLast((part) => !NO_NAME.test(part)) ?? parts.at(-1) ?? ''
  const words = last
    .replace(/\.(com|org|net|io|dev|ai|app|[cm]?[jt]s|py)$/, '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '' && !/^(mcp|server)$/i.test(word))
  return words.join('-').slice(0, 64) || 'server'
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/

/** Why a server can't have this name, if it can't. */
export function nameProblem(name: string, all: readonly string[]): string | undefined {
  if (!NAME.test(name)) return 'Use 1 to 64 letters, digits, "_", "." and "-".'
  return all.filter((other) => other === name).length > 1 ? `Two servers are called "${name}".` : undefined
}

/** The servers under their new names. */
export const renamed = (servers: ServerEntries, names: Readonly<Record<string, string>>): ServerEntries =>
  Object.fromEntries(Object.entries(servers).map(([name, server]) => [ownValue(names, name) ?? name, server]))

/** What a server is, in one line. */
export const summaryOf = ({ url, command, args }: ServerEntry): string =>
  typeof url === 'string' ? url : [command, ...(Array.isArray(args) ? args : [])].join(' ')
