import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { editConfig } from '../../../config/config-text.ts'
import { includedFile } from '../../../config/include-tools.ts'
import { ConfigError, readConfigFile } from '../../../config/load-config.ts'
import { writeWhole } from '../../../config/write-whole.ts'
import { isDeep, MAX_JSON_DEPTH, parseJson } from '../../../core/json/json-depth.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../../../core/tool.ts'
import type { HttpSettings } from '../../../kinds/http/definition/http-implementation.ts'
import { type Comparison, compareDefinitions } from '../../../openapi/compare-definitions.ts'
import { NotInDocument, own, type RawObject } from '../../../openapi/documents.ts'
import { type ImportReport, importOpenapi as importDocument } from '../../../openapi/import-openapi.ts'
import { hostsOf } from '../../../openapi/map-security.ts'
import { CONFIG_NAME, configFile, SWITCHED_OFF, shippedConfig } from '../../common/open.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printableLine,
  type Terminal,
  UsageError,
} from '../../common/terminal.ts'
import { isUrl, type ReadDocument, readOpenapi } from './read-openapi.ts'

const HELP = `
Reads OpenAPI 3 and Swagger 2, in JSON or YAML. Every operation becomes a tool in one file, which the configuration
includes. Run the command again to update the file: it shows what has changed. Operations that cannot be imported are
listed with the reason.

Examples:
  $ toolyard import openapi petstore.yaml --prefix pets
  $ toolyard import openapi https://api.example.com/openapi.json --include users /orders
  $ toolyard import openapi petstore.yaml --dry-run`

export function defineImport(command: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  command
    .command('openapi')
    .description('Write a tool for every operation of an OpenAPI document')
    .argument('<source>', 'a file, or an http or https URL')
    .option('--include <what...>', 'only operations with these tags, paths, operation ids or names')
    .option('--prefix <prefix>', 'prefix of every tool name')
    .option('--base-url <url>', 'URL of the API, instead of the one in the document')
    .option('--into <file>', 'output file in the folder of the configuration (default tools/<title>.json)')
    .option('--dry-run', 'show the changes without writing them')
    .addHelpText('after', HELP)
    .action(run(importOpenapi))
}

interface ImportOpenapiOptions extends GlobalOptions {
  readonly include?: readonly string[]
  readonly prefix?: string
  readonly baseUrl?: string
  readonly into?: string
  readonly dryRun?: boolean
}

/** `toolyard import openapi`: writes a tool for every operation; 1 if no operation can be imported. */
export async function importOpenapi(
  terminal: Terminal,
  source: string,
  options: ImportOpenapiOptions,
): Promise<number> {
  checkOptions(options)
  const configuration = await importConfiguration(terminal, options.config)
  const read = await readSource(terminal, source, configuration.config.http ?? {})
  if (typeof read === 'number') return read
  const report = importOperations(terminal, read, options)
  const target = await importTarget(configuration.file, options.into ?? fileName(source, report, options))
  const comparison = compareDefinitions(target.before, report.definitions, !report.secured)
  checkReplaced(target, comparison)
  if (!terminal.json) showImport(terminal, report, comparison, target.name)
  const written = report.mapped > 0 && options.dryRun !== true
  if (written) await writeWhole(target.file, definitionsText(comparison.definitions))
  const included = written && (await addInclude(configuration, target))
  if (terminal.json) terminal.document({ file: target.name, written, included, ...summary(report, comparison) })
  else concludeImport(terminal, report, { configuration, written, included })
  return report.mapped > 0 ? 0 : 1
}

/** The document, or the exit code if the user interrupted the download. */
async function readSource(terminal: Terminal, source: string, settings: HttpSettings): Promise<ReadDocument | number> {
  const interrupt = new Interrupt()
  try {
    if (isUrl(source)) terminal.note(terminal.styleNote('dim', `… reading ${printableLine(source)}`))
    return await readOpenapi(source, settings, interrupt.signal, terminal.cwd)
  } catch (error) {
    if (interrupt.exitCode !== undefined) return interrupt.exitCode
    throw error
  } finally {
    // The import itself blocks the process: from here on Ctrl-C ends it.
    interrupt.stop()
  }
}

function checkOptions({ prefix, baseUrl }: ImportOpenapiOptions): void {
  if (prefix !== undefined && !/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) {
    throw new UsageError(`--prefix takes up to 32 letters, digits, _ and -, not '${prefix}'.`)
  }
  const url = baseUrl === undefined ? undefined : URL.parse(baseUrl)
  if (baseUrl !== undefined && !/^https?:$/.test(url?.protocol ?? '')) {
    throw new UsageError(`--base-url takes an http or https URL, not '${baseUrl}'.`)
  }
}

function importOperations(
  terminal: Terminal,
  { document, ...read }: ReadDocument,
  options: ImportOpenapiOptions,
): ImportReport {
  const { include, prefix, baseUrl } = options
  try {
    return importDocument(document, {
      ...read,
      include,
      prefix,
      baseUrl,
      onProgress: (done, all) => terminal.note(terminal.styleNote('dim', `… ${done} of ${all} operations`)),
    })
  } catch (error) {
    throw error instanceof NotInDocument ? new UsageError(error.message, { cause: error }) : error
  }
}

/** `tools/petstore.json`: named after the prefix, the title or the source. */
function fileName(source: string, { title }: ImportReport, { prefix }: ImportOpenapiOptions): string {
  const slug = (text: string): string =>
    text
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 60)
      .replace(/^-+|(?<!-)-+$/g, '')
  return `tools/${slug(prefix ?? '') || slug(title) || slug(basename(source).replace(/\.\w+$/, '')) || 'openapi'}.json`
}

/** The report without the definitions, which are in the file. */
function summary({ definitions: _, ...report }: ImportReport, { definitions: __, ...comparison }: Comparison): object {
  return { ...report, ...comparison }
}

/** How many lines of each kind are shown without `--json`. */
const MAX_LINES = 20

/** Shows the added, removed and changed tools, and the operations that cannot be imported. */
function showImport(terminal: Terminal, report: ImportReport, comparison: Comparison, file: string): void {
  const { added, removed, changed, unchanged, kept } = comparison
  const counts = [
    `${added.length} added`,
    `${removed.length} removed`,
    `${changed.length} changed`,
    `${unchanged.length} unchanged`,
  ]
  const left = report.excluded > 0 ? `, ${report.excluded} not selected` : ''
  terminal.result(
    `${printableLine(file)}: ${report.mapped} of ${report.found} operations imported (${counts.join(', ')}), ${report.refused.length} rejected${left}.`,
  )
  showLines(terminal, added, (name) => `+ ${name}`)
  showLines(terminal, removed, (name) => `- ${name}`)
  showLines(terminal, changed, ({ name, keys }) => `~ ${name}: ${keys.join(', ')}`)
  showLines(terminal, report.refused, ({ operation, reason }) => `Rejected: ${operation}: ${reason}`)
  showLines(terminal, kept, ({ name, keys }) => `Kept your ${keys.join(', ')} of ${name}`)
  for (const [note, operations] of Map.groupBy(report.notes, (one) => one.note)) {
    const others = operations.length > 1 ? ` (and ${operations.length - 1} more)` : ''
    terminal.note(printableLine(`Note: ${operations[0]?.operation}${others}: ${note}`))
  }
  showCallbacks(terminal, 'webhook', report.webhooks)
  showCallbacks(terminal, 'callback', report.callbacks)
  if (!report.secured && report.mapped > 0) {
    terminal.note(
      'The document declares no authentication: add "auth" to the tools that need it. Later imports keep it.',
    )
  }
}

function showLines<T>(terminal: Terminal, all: readonly T[], line: (one: T) => string): void {
  for (const one of all.slice(0, MAX_LINES)) terminal.result(printableLine(line(one)))
  if (all.length > MAX_LINES) terminal.result(`  … and ${all.length - MAX_LINES} more (--json lists all)`)
}

/** Requests that the API makes. */
function showCallbacks(terminal: Terminal, what: string, names: readonly string[]): void {
  if (names.length === 0) return
  const first = names.slice(0, 3).join(', ')
  const more = names.length > 3 ? ', …' : ''
  const number = `${names.length} ${what}${names.length === 1 ? '' : 's'}`
  terminal.note(printableLine(`Not imported, because the API sends these: ${number} (${first}${more})`))
}

interface Outcome {
  readonly configuration: ImportConfiguration
  readonly written: boolean
  /** Whether this import added the file to the configuration. */
  readonly included: boolean
}

/** Shows what was written and which variables to set. */
function concludeImport(
  terminal: Terminal,
  { mapped, variables, definitions }: ImportReport,
  { configuration: { file, config, exists }, written, included }: Outcome,
): void {
  if (mapped === 0) {
    terminal.note('No operation can be imported: nothing was written.')
    return
  }
  for (const name of variables) {
    const hosts = hostsOf(name, definitions).join(', ')
    const set = `${name} is set. It is sent to ${hosts}.`
    const missing = `Set ${name}, which is sent to ${hosts}. Tools that need it are skipped until then.`
    terminal.note(printableLine(terminal.env[name] ? set : missing))
  }
  const now = exists ? 'now includes it' : 'was created and includes it'
  const where = `${printableLine(file)} ${included ? now : 'already includes it'}`
  terminal.note(written ? `Written; ${where}.` : 'Dry run: nothing was written.')
  if (written && config.tools?.enabled !== true) terminal.note(SWITCHED_OFF)
}

/** The configuration that an import adds to. */
interface ImportConfiguration {
  readonly file: string
  readonly config: Config
  /** False if the import creates it. */
  readonly exists: boolean
}

/** The file named by `--config` or the environment, else the one in this folder, which need not exist. */
async function importConfiguration(terminal: Terminal, option: string | undefined): Promise<ImportConfiguration> {
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
async function addInclude(
  { file, config, exists }: ImportConfiguration,
  { file: into, name }: ImportTarget,
): Promise<boolean> {
  const included = (config.tools?.registry ?? []).map(includedFile)
  if (included.some((one) => one !== undefined && resolve(dirname(file), one) === into)) return false
  const text = exists ? await readFile(file, 'utf8') : `${JSON.stringify(config, undefined, 2)}\n`
  await writeWhole(file, withInclude(text, name, basename(file)))
  return true
}

/** Adds an `include` entry to `tools.registry` in the text of a configuration, and keeps its formatting. */
export const withInclude = (text: string, include: string, name: string): string =>
  editConfig(text, [{ path: ['tools', 'registry', -1], value: { include } }], name)

/** The file of an import, and the definitions it holds now. */
interface ImportTarget {
  readonly file: string
  /** The path relative to the folder of the configuration, as used in `include`. */
  readonly name: string
  readonly before: readonly RawObject[]
}

/** Reads the file of an import. A file that must not be replaced is a usage error. */
async function importTarget(configuration: string, into: string): Promise<ImportTarget> {
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
  if (isDeep(text, MAX_JSON_DEPTH)) throw fault(`is nested deeper than ${MAX_JSON_DEPTH} levels`)
  const value = readJson(text)
  if (!Array.isArray(value) || !value.every(isObject)) throw fault('exists but has no tool definitions')
  const foreign = value.find((definition) => own(own(definition, 'implementation'), 'type') !== 'http')
  if (foreign !== undefined) throw fault(`has tools that were not imported (${String(foreign.name)})`)
  return value
}

function readJson(text: string): unknown {
  try {
    return parseJson(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** Rejects an import that would replace the tools of another API. */
function checkReplaced({ name, before }: ImportTarget, { removed, added }: Comparison): void {
  if (before.length === 0 || removed.length < before.length || added.length === 0) return
  throw new UsageError(
    `${name} holds ${before.length} other tool${before.length === 1 ? '' : 's'}, none of which are in this import: name another file with --into, or delete it.`,
  )
}

/** The limit for an included file. */
const MAX_CHARACTERS = 200_000_000

/** The definitions as the text of a file. Throws if it would be too long to include. */
function definitionsText(definitions: readonly ToolDefinition[]): string {
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
