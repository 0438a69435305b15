import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { canonicalText } from '../../core/json/canonical-text.ts'
import type { Log } from '../../core/log.ts'
import { checkAhead } from '../../core/schema/guard-schema.ts'
import { PrivateFile } from '../private-file.ts'
import { effectOf, type ServerTool } from './listed-tool.ts'
import type { McpServerSettings } from './server-settings.ts'

/** The difference between a tool and its approved definition. */
export interface ToolChange {
  readonly tool: string
  readonly change: 'new' | 'changed' | 'gone'
  readonly parts?: readonly string[]
  readonly description?: string
  /** The version that waits for approval, and its fingerprint. */
  readonly version?: string
  readonly fingerprint?: string
}

/** Compares a list of tools with the pins. */
export function toolChanges(listed: readonly ServerTool[], pins: Readonly<Record<string, string>>): ToolChange[] {
  const names = new Set(listed.map(({ name }) => name))
  const gone = Object.keys(pins).filter((name) => !names.has(name))
  return [...listed.flatMap((tool) => changeOf(tool, pins)), ...gone.map((tool) => ({ tool, change: 'gone' as const }))]
}

function changeOf(tool: ServerTool, pins: Readonly<Record<string, string>>): ToolChange[] {
  const { name, description } = tool
  const pin = pinOf(name, pins)
  const waiting = { description, version: versionText((pin?.revision ?? 0) + 1), fingerprint: fingerprint(tool) }
  if (pin === undefined) return [{ tool: name, change: 'new', ...waiting }]
  if (isPinned(waiting.fingerprint, pin)) return []
  return [{ tool: name, change: 'changed', parts: changedParts(pin.print, waiting.fingerprint), ...waiting }]
}

interface Pin {
  readonly print: string
  /** How many definitions of the tool were approved. */
  readonly revision: number
}

/** A pin is a fingerprint. From the second approved definition on, its number follows after a hash sign. */
function pinOf(tool: string, pins: Pins): Pin | undefined {
  const [print, revision = '1'] = Object.hasOwn(pins, tool) ? (pins[tool] as string).split('#') : []
  return print === undefined ? undefined : { print, revision: Number(revision) || 1 }
}

/** Pins of older versions have no effect. */
const isPinned = (print: string, pin: Pin): boolean => print === pin.print || print.startsWith(`${pin.print}.`)

const versionText = (revision: number): string => `${revision}.0.0`

const PARTS = ['description', 'schema', 'effect']

function changedParts(pin: string, print: string): string[] {
  const [before, now] = [pin.split('.'), print.split('.')]
  if (before.length < PARTS.length - 1) return ['description or schema']
  return PARTS.filter((_, index) => before[index] !== undefined && before[index] !== now[index])
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

/** The key or the user that approves tools. */
interface Approver {
  readonly id: string
  readonly name: string
  readonly source?: 'rest' | 'cli' | 'code'
}

/** Stores the fingerprints of approved tools, by server and tool. */
export interface PinStore {
  read(server: string): Promise<Readonly<Record<string, string>> | undefined>
  /** `by` approved them; nobody did at the first contact. */
  write(server: string, pins: Readonly<Record<string, string>>, by?: Approver): Promise<void>
}

const fingerprints = new WeakMap<ServerTool, string>()

/** Does what takes long with a hostile schema. A server lists thousands of tools, and the caller lets other work happen between. */
export function checkTool(tool: ServerTool): void {
  checkAhead(tool.inputSchema)
  fingerprints.set(tool, fingerprint(tool))
}

/** Changes with the name, description, schema or effect of a tool, each in a part of its own, so that changes can be named. */
export function fingerprint(tool: ServerTool): string {
  const known = fingerprints.get(tool)
  if (known !== undefined) return known
  const { name, description, inputSchema } = tool
  const hashes = [{ name, description }, inputSchema].map((part) => hash('sha256', canonicalText(part)))
  return [...hashes, effectOf(tool)].join('.')
}

/** What a server lists: the tools that may be used, and those that wait for approval. */
interface AdmittedTools {
  readonly tools: readonly ServerTool[]
  readonly waiting: readonly ToolChange[]
}

/** Logs changed definitions. If the server is pinned, they become versions that wait for approval. */
export async function admitTools(
  listed: readonly ServerTool[],
  before: readonly ServerTool[] | undefined,
  { name: server, pin }: McpServerSettings,
  { pins, log }: { readonly pins: PinStore; readonly log: Log },
): Promise<AdmittedTools> {
  if (pin !== true) {
    const known = new Map(before?.map((tool) => [tool.name, fingerprint(tool)]))
    for (const tool of listed) {
      const was = known.get(tool.name)
      if (was !== undefined && was !== fingerprint(tool)) {
        log.warn({ server, tool: tool.name }, 'The definition of an MCP tool has changed')
      }
    }
    return { tools: listed, waiting: [] }
  }
  const stored = await pins.read(server)
  const approved = stored === undefined ? pinsOf(listed) : withEffects(stored, listed)
  // The first list is trusted.
  if (stored === undefined || canonicalText(approved) !== canonicalText(stored)) await pins.write(server, approved)
  const waiting = toolChanges(listed, approved).filter(({ change }) => change !== 'gone')
  for (const { tool, change } of waiting) {
    const what = change === 'new' ? 'is new' : 'has changed'
    log.warn(
      { server, tool },
      `MCP tool rejected: it ${what} since the server was pinned. Run "toolyard mcp approve ${server}" to accept it`,
    )
  }
  const tools = listed
    .filter(({ name }) => waiting.every(({ tool }) => tool !== name))
    .map((tool) => ({ ...tool, version: versionText(pinOf(tool.name, approved)?.revision ?? 1) }))
  return { tools, waiting }
}

/** Adds the effects to pins of older versions. */
function withEffects(pins: Pins, listed: readonly ServerTool[]): Pins {
  const known = listed.filter((tool) => {
    const pin = pinOf(tool.name, pins)
    return pin !== undefined && isPinned(fingerprint(tool), pin)
  })
  return { ...pins, ...pinsOf(known, pins) }
}

/** The pins of these tools. A tool that has changed since `before` gets the next version. */
export const pinsOf = (tools: readonly ServerTool[], before: Pins = {}): Record<string, string> =>
  Object.fromEntries(
    tools.map((tool) => {
      const [print, pin] = [fingerprint(tool), pinOf(tool.name, before)]
      const revision = pin === undefined ? 1 : isPinned(print, pin) ? pin.revision : pin.revision + 1
      return [tool.name, revision === 1 ? print : `${print}#${revision}`]
    }),
  )
