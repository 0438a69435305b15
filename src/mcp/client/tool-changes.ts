import { fingerprint } from './fingerprint.ts'
import type { ServerTool } from './listed-tool.ts'

/** How one tool differs from what was approved. */
export interface ToolChange {
  readonly tool: string
  readonly change: 'new' | 'changed' | 'gone'
  /** What of it has changed. */
  readonly parts?: readonly string[]
  /** What it says of itself now. */
  readonly description?: string
}

/** What a server lists now, against the pins. */
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

/** A fingerprint is one hash for each part, in this order. */
const PARTS = ['description', 'schema']

function changedParts(pin: string, print: string): string[] {
  const [before, now] = [pin.split('.'), print.split('.')]
  if (before.length !== PARTS.length || now.length !== PARTS.length) return [PARTS.join(' or ')]
  return PARTS.filter((_, index) => before[index] !== now[index])
}
