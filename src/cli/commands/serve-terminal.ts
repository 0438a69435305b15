import { Writable } from 'node:stream'
import type { Installation } from '../../app/installation.ts'
import { packageVersion } from '../../app/package-version.ts'
import type { ToolManager } from '../../app/tools/tool-manager.ts'
import { counted } from '../../core/schema/problem-words.ts'
import { SWITCHED_OFF } from '../common/open.ts'
import { printableLine, type Terminal } from '../common/terminal.ts'

type Fields = Readonly<Record<string, unknown>>

/** Left out of the lines: the JSON log has them. */
const UNSHOWN = new Set(['level', 'time', 'msg', 'timestamp', 'params', 'result', 'stack', 'success', 'hash'])
const [WARN, ERROR] = [40, 50]

/** Turns the records of the log, JSON in lines, into short lines for a person. */
export function readableLog(terminal: Terminal): Writable {
  return new Writable({
    decodeStrings: false,
    write(records: string, _, done) {
      for (const record of String(records).split('\n')) if (record !== '') terminal.note(lineOf(terminal, record))
      done()
    },
  })
}

function lineOf(terminal: Terminal, record: string): string {
  const fields = JSON.parse(record) as Fields
  const level = Number(fields.level)
  const time = new Date(Number(fields.time)).toTimeString().slice(0, 8)
  const mark = level >= ERROR ? 'error ' : level >= WARN ? 'warn ' : ''
  const colour = level >= ERROR ? 'red' : 'yellow'
  const isCall = typeof fields.tool === 'string' && typeof fields.execution_time_ms === 'number'
  const text = printableLine(isCall ? callText(fields) : `${fields.msg}${detailsOf(fields)}`)
  const room = Math.max(20, (terminal.stderr.columns || 80) - time.length - mark.length - 1)
  const fitting = text.length > room ? `${text.slice(0, room - 1)}…` : text
  return `${terminal.styleNote('dim', time)} ${mark && terminal.styleNote(colour, mark)}${fitting}`
}

function callText({ tool, tenant, execution_time_ms, error_code, error }: Fields): string {
  const whose = tenant === 'local' ? '' : ` (${tenant})`
  const failure = error_code === undefined ? '' : `: ${error_code}, ${error}`
  return `${tool}${whose} ${execution_time_ms} ms${failure}`
}

function detailsOf(fields: Fields): string {
  const shown = Object.entries(fields).filter(([name, value]) => !UNSHOWN.has(name) && value !== undefined)
  return shown.map(([name, value]) => ` ${name}=${valueText(value)}`).join('')
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  const { message } = Object(value) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(value)
}

interface Introduction {
  readonly url: string
  readonly installation: Installation
  readonly file: string
  readonly insecureLocal: boolean
}

/** What a person sees when the server starts. */
export async function describeServer(terminal: Terminal, about: Introduction): Promise<void> {
  const { url, installation, file, insecureLocal } = about
  const { manager, callers, storage, folder, env } = installation
  terminal.result(`${terminal.style('bold', `Toolyard ${packageVersion()}`)} ${terminal.style('cyan', url)}\n`)
  const line = (name: string, text: string) =>
    terminal.result(`  ${terminal.style('dim', name.padEnd(9))}${printableLine(text)}`)
  line('web UI', `${url}/`)
  line('docs', `${url}/guide`)
  line('API', `${url}/docs, ${url}/mcp (MCP), ${url}/v1 (OpenAI)`)
  for (const [index, origin] of originsOf(manager).entries()) line(index === 0 ? 'tools' : '', origin)
  const { engine } = await storage.status()
  line('storage', engine === 'sqlite' ? `SQLite in ${folder}` : `PostgreSQL at ${hostOf(env.TOOLYARD_DATABASE_URL)}`)
  if (insecureLocal) line('keys', 'not needed from this machine (--insecure-local)')
  else if (callers.keyed) line('keys', 'every request needs one')
  else line('keys', 'none yet: requests must come from this machine. Create one with "toolyard keys create".')
  line('config', file)
  // Opening the providers takes longest.
  line('models', await modelsOf(manager))
  terminal.result('')
}

function originsOf(manager: ToolManager): string[] {
  if (!manager.isEnabled()) return [SWITCHED_OFF]
  const servers = manager.getMcpStatus()
  const all = manager.getRegistry().definitions()
  const own = all.filter(({ implementation }) => implementation.type !== 'mcp').length
  return [`${own} of the configuration`, ...servers.map(originOf)]
}

function originOf({ name, state, tools, problem }: ReturnType<ToolManager['getMcpStatus']>[number]): string {
  // Tools are registered before the connection counts as established.
  if (state === 'connected' || (state === 'connecting' && tools.length > 0))
    return `${tools.length} of MCP server ${name}`
  return `MCP server ${name}: ${state.replace('_', ' ')}${problem === undefined ? '' : ` (${problem})`}`
}

/** Without user and password. */
const hostOf = (address = ''): string => {
  const url = URL.parse(address)
  return url === null ? 'the address in TOOLYARD_DATABASE_URL' : `${url.host}${url.pathname}`
}

async function modelsOf(manager: ToolManager): Promise<string> {
  const catalogue = await manager.getModels()
  const ids = catalogue.list().map(({ id }) => id)
  const available = ids.filter((id) => catalogue.availability(id).available !== false)
  const lacking = ids.length - available.length
  const more = lacking === 0 ? '' : ` (${counted(lacking, 'model')} not available: see "toolyard models")`
  return `${available.join(', ') || 'none'}${more}`
}

const SETTLE_MS = 100

/** Writes a line when the tools of an MCP server join or change. Returns a function that stops it. */
export function announceTools(terminal: Terminal, installation: Installation): () => void {
  let known = new Map<string, string>()
  let timer: (() => void) | undefined
  let stopListening: (() => void) | undefined
  const states = () => new Map(installation.manager.getMcpStatus().map((status) => [status.name, originOf(status)]))
  const tell = () => {
    timer = undefined
    const before = known
    known = states()
    for (const [name, text] of known) if (before.get(name) !== text) terminal.note(printableLine(`Tools: ${text}`))
  }
  const listen = () => {
    stopListening?.()
    stopListening = installation.manager.getRegistry().onChange(() => {
      // A server registers its tools one by one.
      timer ??= installation.clock.after(SETTLE_MS, tell)
    })
  }
  known = states()
  listen()
  const stopReloads = installation.onReload(listen)
  return () => {
    timer?.()
    stopListening?.()
    stopReloads()
  }
}
