import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isMap, isSeq, parseDocument } from 'yaml'
import type { Config } from '../../../config/config.ts'
import { includedFile } from '../../../config/include-tools.ts'
import { ConfigError, readConfigFile } from '../../../config/load-config.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../../../core/tool.ts'
import type { Comparison } from '../../../openapi/compare-definitions.ts'
import { own, type RawObject } from '../../../openapi/documents.ts'
import { CONFIG_NAME, configFile, shippedConfig } from '../../common/open.ts'
import { type Terminal, UsageError } from '../../common/terminal.ts'
import { writeWhole } from '../../common/write-whole.ts'

/** The configuration that an import adds to. */
export interface ImportConfiguration {
  readonly file: string
  readonly config: Config
  /** False if the import creates it. */
  readonly exists: boolean
}

/** The file named by `--config` or the environment, else the one in this folder, which need not exist. */
export async function importConfiguration(
  terminal: Terminal,
  option: string | undefined,
): Promise<ImportConfiguration> {
  const named = configFile(terminal, option)
  // The shipped configuration is never changed.
  const isNamed = option !== undefined || Boolean(terminal.env.TOOLYARD_CONFIG)
  const file = named === shippedConfig && !isNamed ? terminal.path(CONFIG_NAME) : named
  if (!existsSync(file) && !isNamed) return { file, config: { tools: { enabled: true } }, exists: false }
  try {
    return { file, config: await readConfigFile(file), exists: true }
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error
  }
}

/** Includes the file in `tools.registry`; false if it already was. */
export async function addInclude(
  { file, config, exists }: ImportConfiguration,
  { file: into, name }: ImportTarget,
): Promise<boolean> {
  const included = (config.tools?.registry ?? []).map(includedFile)
  if (included.some((one) => one !== undefined && resolve(dirname(file), one) === into)) return false
  const text = exists ? await readFile(file, 'utf8') : JSON.stringify(config)
  await writeWhole(file, withInclude(text, name))
  return true
}

interface ConfigText {
  readonly tools?: { readonly registry?: readonly unknown[] }
}

/** Adds an `include` entry to `tools.registry` in the text of a configuration, and keeps its formatting if possible. */
export function withInclude(text: string, include: string): string {
  const config = JSON.parse(text.replace(/^\uFEFF/, '')) as ConfigText
  const wanted = { ...config, tools: { ...config.tools, registry: [...(config.tools?.registry ?? []), { include }] } }
  const edited = inserted(text, `{ "include": ${JSON.stringify(include)} }`)
  if (edited !== undefined && isDeepStrictEqual(parseJson(edited), wanted)) return edited
  return `${JSON.stringify(wanted, undefined, 2)}\n`
}

/** Inserts the entry after the last one of `tools.registry`. JSON is YAML, whose parser reports positions. */
function inserted(text: string, entry: string): string | undefined {
  const root = parseDocument(text, { logLevel: 'silent' }).contents
  const registry = isMap(root) ? root.getIn(['tools', 'registry'], true) : undefined
  const last = isSeq(registry) ? registry.items.at(-1) : undefined
  const range = (last as { readonly range?: readonly [number, number, number] } | undefined)?.range
  if (range === undefined) return undefined
  const [start, end] = range
  const before = /(?:\r?\n|(?<![ \t]))[ \t]*$/.exec(text.slice(0, start))?.[0] ?? ''
  return `${text.slice(0, end)},${before.includes('\n') ? before : ' '}${entry}${text.slice(end)}`
}

/** The file of an import, and the definitions it holds now. */
export interface ImportTarget {
  readonly file: string
  /** The path relative to the folder of the configuration, as used in `include`. */
  readonly name: string
  readonly before: readonly RawObject[]
}

/** Reads the file of an import. A file that must not be replaced is a usage error. */
export async function importTarget(configuration: string, into: string): Promise<ImportTarget> {
  const folder = dirname(configuration)
  const file = resolve(folder, into)
  const name = relative(folder, file).split(sep).join('/')
  if (!name.endsWith('.json')) throw new UsageError(`--into takes the name of a .json file, not '${into}'.`)
  if (file === configuration) throw new UsageError('--into must not be the configuration itself: name another file.')
  if (await isOutside(file, folder)) {
    throw new UsageError(`--into '${into}' is outside the folder of the configuration, ${folder}: name a file in it.`)
  }
  return { file, name, before: await definitionsIn(file, name) }
}

/** Follows links: an existing file or folder may be a link to another place. */
async function isOutside(file: string, folder: string): Promise<boolean> {
  const home = await realpath(folder).catch(() => folder)
  const path = relative(home, await realPath(file))
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)
}

/** The real path of a file that may not exist yet. */
async function realPath(file: string): Promise<string> {
  try {
    return await realpath(file)
  } catch (error) {
    const parent = dirname(file)
    if (parent === file) throw error
    return resolve(await realPath(parent), relative(parent, file))
  }
}

async function definitionsIn(file: string, name: string): Promise<RawObject[]> {
  const fault = (problem: string) => new UsageError(`${name} ${problem}: name another file with --into, or delete it.`)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw fault(`cannot be read (${error.code})`)
  })
  if (text === undefined) return []
  const value = parseJson(text)
  if (!Array.isArray(value) || !value.every(isObject)) throw fault('exists but has no tool definitions')
  const foreign = value.find((definition) => own(own(definition, 'implementation'), 'type') !== 'http')
  if (foreign !== undefined) throw fault(`has tools that were not imported (${String(foreign.name)})`)
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** Rejects an import that would replace the tools of another API. */
export function checkReplaced({ name, before }: ImportTarget, { removed, added }: Comparison): void {
  if (before.length === 0 || removed.length < before.length || added.length === 0) return
  throw new UsageError(
    `${name} holds ${before.length} other tool${before.length === 1 ? '' : 's'}, none of which are in this import: name another file with --into, or delete it.`,
  )
}

/** The limit for an included file. */
const MAX_CHARACTERS = 200_000_000

/** The definitions as the text of a file. Throws if it would be too long to include. */
export function definitionsText(definitions: readonly ToolDefinition[]): string {
  let characters = 0
  const texts = definitions.map((definition) => {
    const text = JSON.stringify(definition, undefined, 2).replaceAll('\n', '\n  ')
    characters += text.length
    if (characters > MAX_CHARACTERS) {
      throw new Error(`The tools are larger than ${MAX_CHARACTERS / 1e6} MB in total: select some with --include.`)
    }
    return `  ${text}`
  })
  return `[\n${texts.join(',\n')}\n]\n`
}
