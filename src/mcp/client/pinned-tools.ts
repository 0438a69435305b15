import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import { PrivateFile } from '../private-file.ts'
import type { ServerTool } from './listed-tool.ts'
import type { McpServerSettings } from './server-settings.ts'

/** The difference between a tool and its approved definition. */
export interface ToolChange {
  readonly tool: string
  readonly change: 'new' | 'changed' | 'gone'
  readonly parts?: readonly string[]
  readonly description?: string
}

/** Compares a list of tools with the pins. */
export function toolChanges(listed: readonly ServerTool[], pins: Readonly<Record<string, string>>): ToolChange[] {
  const names = new Set(listed.map(({ name }) => name))
  const gone = Object.keys(pins).filter((name) => !names.has(name))
  return [...listed.flatMap((tool) => changeOf(tool, pins)), ...gone.map((tool) => ({ tool, change: 'gone' as const }))]
}

function changeOf(tool: ServerTool, pins: Readonly<Record<string, string>>): ToolChange[] {
  const { name, description } = tool
  const pin = Object.hasOwn(pins, name) ? pins[name] : undefined
  if (pin === undefined) return [{ tool: name, change: 'new', description }]
  const print = fingerprint(tool)
  return pin === print ? [] : [{ tool: name, change: 'changed', parts: changedParts(pin, print), description }]
}

const PARTS = ['description', 'schema']

function changedParts(pin: string, print: string): string[] {
  const [before, now] = [pin.split('.'), print.split('.')]
  if (before.length !== PARTS.length || now.length !== PARTS.length) return [PARTS.join(' or ')]
  return PARTS.filter((_, index) => before[index] !== now[index])
}

type Pins = Readonly<Record<string, string>>

/** Stores pins in `mcp-pins.json` of the data folder. */
export class PinFile implements PinStore {
  readonly #file: PrivateFile<Pins>

  constructor(dataFolder: string, clock?: Clock) {
    this.#file = new PrivateFile(join(dataFolder, 'mcp-pins.json'), clock)
  }

  read(server: string): Promise<Pins | undefined> {
    return this.#file.read(server)
  }

  async write(server: string, pins: Pins): Promise<void> {
    await this.#file.update(server, () => pins)
  }
}

/** Stores the fingerprints of approved tools, by server and tool. */
export interface PinStore {
  read(server: string): Promise<Readonly<Record<string, string>> | undefined>
  write(server: string, pins: Readonly<Record<string, string>>): Promise<void>
}

/** Changes with the name, description or schema of a tool. The schema has its own half, so that changes can be named. */
export function fingerprint({ name, description, inputSchema }: ServerTool): string {
  return `${hash('sha256', canonicalText({ name, description }))}.${hash('sha256', canonicalText(inputSchema))}`
}

/** Returns the listed tools that may be used. Logs changed definitions, and rejects them if the server is pinned. */
export async function admitTools(
  listed: readonly ServerTool[],
  before: readonly ServerTool[] | undefined,
  { name: server, pin }: McpServerSettings,
  { pins, log }: { readonly pins: PinStore; readonly log: Log },
): Promise<readonly ServerTool[]> {
  if (pin !== true) {
    const known = new Map(before?.map((tool) => [tool.name, fingerprint(tool)]))
    for (const tool of listed) {
      const was = known.get(tool.name)
      if (was !== undefined && was !== fingerprint(tool)) {
        log.warn({ server, tool: tool.name }, 'The definition of an MCP tool has changed')
      }
    }
    return listed
  }
  const approved = await pins.read(server)
  if (approved === undefined) {
    // The first list is trusted.
    await pins.write(server, pinsOf(listed))
    return listed
  }
  return listed.filter((tool) => {
    const approvedPin = Object.hasOwn(approved, tool.name) ? approved[tool.name] : undefined
    if (approvedPin === fingerprint(tool)) return true
    const what = approvedPin === undefined ? 'is new' : 'has changed'
    log.warn(
      { server, tool: tool.name },
      `MCP tool rejected: it ${what} since the server was pinned. Run "toolyard mcp approve ${server}" to accept it`,
    )
    return false
  })
}

export const pinsOf = (tools: readonly ServerTool[]): Record<string, string> =>
  Object.fromEntries(tools.map((tool) => [tool.name, fingerprint(tool)]))
