import { pathText } from '../core/schema/value-path.ts'
import type { Config, McpServerConfig } from './config.ts'

/** One configured server, and where it stands. */
export interface McpEntry {
  /** The key that it stands under. */
  readonly key: string
  /** What it is called: the key, fit to be part of a tool's name. */
  readonly name: string
  /** Its path in the configuration. */
  readonly place: string
  readonly server: McpServerConfig
}

/** Every server of a configuration, in order. */
export function mcpEntries({ mcpServers = {}, servers = {} }: Config): McpEntry[] {
  return Object.entries({ mcpServers, servers }).flatMap(([section, entries]) =>
    Object.entries(entries).map(([key, server]) => {
      const place = pathText({ parent: { parent: undefined, step: section }, step: key })
      return { key, name: serverName(key), place, server }
    }),
  )
}

/**
 * Other clients let a server be called `Figma Dev Mode` or `microsoft/playwright-mcp`. Here its tools may have to be
 * called `<server>__<tool>`, so what no client of ours takes in the name of a tool becomes a hyphen.
 */
export const serverName = (key: string): string =>
  key.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, '')
