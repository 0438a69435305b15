import { access } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { suggest } from '../../core/suggest.ts'
import { ModelError } from '../model-error.ts'
import { dataFolder, modelFile, modelNames } from '../model-files/model-folder.ts'
import type { ProviderSettings, ProviderSurroundings, Wire } from '../provider.ts'
import { type Engine, findEngine, type Llama } from './engine.ts'
import { askLoaded, type LoadedModel } from './loaded-model.ts'

/** Larger contexts take gigabytes, whether they are used or not. */
const LARGEST_CONTEXT = 8_192
/** So many tokens of a prompt are evaluated between two looks at whether somebody still wants them. */
const BATCH = 128
/** With two cores or fewer, one is left to everything else. */
const THREADS = availableParallelism() <= 2 ? { threads: 1 } : {}

/** A wire that holds models in memory until it is closed. */
export interface LlamaWire extends Wire {
  close(): Promise<void>
}

/** Language models inside this process: GGUF files of the models folder, run by `node-llama-cpp`. */
export function llamaWire(
  settings: ProviderSettings,
  { log }: ProviderSurroundings,
  find: typeof findEngine = findEngine,
): LlamaWire {
  const { grammar = true } = settings
  const importEngine = find(settings.name)
  let started: Promise<{ engine: Engine; llama: Llama }> | undefined
  const loaded = new Map<string, Promise<LoadedModel>>()

  const start = async () => {
    const engine = await importEngine()
    const logger = (level: string, message: string): void =>
      log.debug({ provider: settings.name, level }, message.trim())
    try {
      const options = { gpu: 'auto', build: 'never', logLevel: 'error', logger } as const
      const llama = await engine.getLlama({ ...options, ...(THREADS.threads && { maxThreads: THREADS.threads }) })
      return { engine, llama }
    } catch (error) {
      throw error instanceof engine.NoBinaryFoundError ? noBinary(settings.name, error) : error
    }
  }

  const load = async (name: string): Promise<LoadedModel> => {
    const id = `${settings.name}:${name}`
    const modelPath = await findFile(id, name)
    started ??= start().catch((error: unknown) => {
      started = undefined
      throw error
    })
    const { engine, llama } = await started
    try {
      const model = await llama.loadModel({ modelPath })
      const context = await model.createContext({ contextSize: { max: LARGEST_CONTEXT }, batchSize: BATCH, ...THREADS })
      const sequence = context.getSequence()
      const template = model.fileInfo.metadata.tokenizer?.chat_template
      const { tokenizer } = model
      // Left to itself the engine tries all forms of chat that it knows, which blocks for a second or two.
      const chatWrapper = template
        ? new engine.JinjaTemplateChatWrapper({ template, tokenizer, functionCallMessageTemplate: 'noJinja' })
        : 'auto'
      const chat = new engine.LlamaChat({ contextSequence: sequence, chatWrapper })
      return { id, engine, llama, model, context, sequence, chat, grammar, idle: Promise.resolve() }
    } catch (error) {
      throw notLoaded(id, error, engine)
    }
  }

  const loadOnce = (name: string): Promise<LoadedModel> => {
    const known = loaded.get(name)
    if (known !== undefined) return known
    const loading = load(name)
    loaded.set(name, loading)
    loading.catch(() => loaded.delete(name))
    return loading
  }

  return {
    dialect: 'plain',
    printsCalls: !grammar,
    async *stream(name, request) {
      request.signal?.throwIfAborted()
      const model = await orAborted(loadOnce(name), request.signal)
      yield* askLoaded(model, request)
    },
    list: async () => (await modelNames(dataFolder())).map((name) => ({ name, capabilities: ['function-calling'] })),
    async close() {
      const models = await Promise.allSettled(loaded.values())
      loaded.clear()
      await Promise.all(models.map((one) => one.status === 'fulfilled' && one.value.idle))
      const running = await started?.catch(() => undefined)
      started = undefined
      await running?.llama.dispose()
    },
  }
}

async function findFile(id: string, name: string): Promise<string> {
  const file = modelFile(dataFolder(), name)
  const there =
    file !== undefined &&
    (await access(file).then(
      () => true,
      () => false,
    ))
  if (there) return file
  const names = await modelNames(dataFolder())
  const near = suggest(name, names)[0]
  const hint = near !== undefined ? `Did you mean '${near}'?` : `There are: ${names.join(', ') || 'none'}.`
  throw new ModelError(`There is no model file for ${id}. ${hint} "toolyard models add FILE|URL" adds one.`)
}

/** A caller that goes away does not stop the loading: the next one will want it. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

const SYSTEMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'mac', win32: 'win' }

function noBinary(provider: string, cause: unknown): ModelError {
  const system = `${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`
  const name = `@node-llama-cpp/${system === 'mac-arm64' ? 'mac-arm64-metal' : system}`
  return new ModelError(
    `The provider ${provider} has node-llama-cpp, but not its program for this machine: npm install ${name}`,
    { cause },
  )
}

function notLoaded(id: string, cause: unknown, engine: Engine): ModelError {
  const why =
    cause instanceof engine.InsufficientMemoryError
      ? 'it does not fit into the memory of this machine. Take a smaller one, or one quantised further.'
      : 'the file is damaged, or of a kind that this version of node-llama-cpp does not know. Add it again, or update the package.'
  return new ModelError(`The model ${id} could not be loaded: ${why}`, { cause })
}
