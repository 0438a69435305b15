import { type ConfigEdit, valueAt } from '../../config/config-text.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { splitModelId } from '../../models/model-info.ts'
import { SetupError } from './setup-error.ts'

/** The configuration as it is written. */
type Written = Readonly<Record<string, unknown>>

/** The names of what a change removes. */
export interface Removed {
  readonly providers?: readonly string[]
  readonly models?: readonly string[]
  readonly tools?: readonly string[]
  readonly servers?: readonly string[]
}

const KINDS = {
  remove_model: 'model',
  remove_provider: 'provider',
  remove_tool: 'tool',
  remove_mcp_server: 'MCP server',
} as const

/** What the file itself has, and what can be removed from it. */
export function writtenParts(written: Written) {
  const { providers, mcpServers } = written
  const ids = namesIn(written, ['models'], 'id')
  const own = isObject(providers) ? Object.keys(providers) : []
  const names = new Set([...own, ...ids.map((id) => splitModelId(id)?.provider ?? '')])
  return {
    models: [...names].map((name) => ({
      name,
      /** Whether it has an entry, or is known without one. */
      entry: own.includes(name),
      models: ids.filter((id) => splitModelId(id)?.provider === name),
    })),
    tools: [...new Set(namesIn(written, ['tools', 'registry'], 'name'))],
    servers: isObject(mcpServers) ? Object.keys(mcpServers) : [],
  }
}

/** Removes a part of the file. The check of the new configuration names what still uses it. */
export function removal(
  kind: keyof typeof KINDS,
  name: string,
  { written, taken }: { readonly written: Written; readonly taken: readonly string[] },
): { readonly edits: readonly ConfigEdit[]; readonly warnings: readonly string[]; readonly removed: Removed } {
  const found = placesOf(kind, name, written)
  if (found.edits.length === 0) {
    throw new SetupError(
      422,
      `The configuration file has no ${KINDS[kind]} ${JSON.stringify(name)}: it may be removed already, or come from elsewhere`,
    )
  }
  const entries = JSON.stringify(found.edits.map(({ path }) => valueAt(written, path)))
  const secrets = taken.filter((secret) => entries.includes(`\${secret:${secret}}`))
  return {
    ...found,
    warnings: secrets.map((secret) => `The secret ${secret} stays in the store. You can remove it in Settings.`),
  }
}

function placesOf(
  kind: keyof typeof KINDS,
  name: string,
  written: Written,
): { readonly edits: readonly ConfigEdit[]; readonly removed: Removed } {
  const { models, servers } = writtenParts(written)
  if (kind === 'remove_mcp_server') {
    return { edits: servers.includes(name) ? [{ path: ['mcpServers', name] }] : [], removed: { servers: [name] } }
  }
  if (kind === 'remove_tool') {
    return { edits: placesIn(written, ['tools', 'registry'], 'name', [name]), removed: { tools: [name] } }
  }
  if (kind === 'remove_model')
    return { edits: placesIn(written, ['models'], 'id', [name]), removed: { models: [name] } }
  const provider = models.find((one) => one.name === name && one.entry)
  if (provider === undefined) return { edits: [], removed: {} }
  const edits = [...placesIn(written, ['models'], 'id', provider.models), { path: ['providers', name] }]
  return { edits, removed: { providers: [name], models: provider.models } }
}

function namesIn(written: Written, path: readonly string[], key: string): string[] {
  const list = valueAt(written, path)
  return Array.isArray(list) ? list.map((one) => foreignText(Object(one)[key])) : []
}

/** The last place first: the others stay where they are. */
const placesIn = (written: Written, path: readonly string[], key: string, names: readonly string[]): ConfigEdit[] =>
  namesIn(written, path, key)
    .flatMap((name, index) => (names.includes(name) ? [{ path: [...path, index] }] : []))
    .reverse()
