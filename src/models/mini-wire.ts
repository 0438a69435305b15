import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { findPackages, MiniHost, WordVectors, Worker, WorkerOptions } from '@toolyard/mini'
import { type Log, silentLog } from '../core/log.ts'
import { isMissingPackage } from '../core/optional-package.ts'
import { compileSchema } from '../core/schema/compiled-schema.ts'
import { exactCheck } from '../core/schema/exact-check.ts'
import { ToolIndex } from '../core/search/tool-index.ts'
import type { Params } from '../core/tool.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { ProcessPool } from '../isolation/process-pool.ts'
import { textMessage } from './content.ts'
import { type ModelEvent, type OfferedTool, SEARCH_TOOLS, type ToolCall } from './model.ts'
import { ModelError } from './model-error.ts'
import { readScores } from './model-scores.ts'
import type { ProviderContext, ProviderSettings, Wire, WireRequest } from './provider.ts'

const PACKAGE = '@toolyard/mini'
/** The first version, which configurations may still name. */
const FORMER_MODEL = 'v0'
/** A call takes a second at most, loading the model some seconds on a machine under load. */
const CALL_TIMEOUT_MS = 60_000
const MEMORY_MB = 512

/** A wire that holds a process until it is closed. */
interface MiniWire extends Wire {
  /** The process that holds the model, if there is one. */
  readonly pid: number | undefined
  close(): Promise<void>
}

/** The model in the optional package `@toolyard/mini`: understands requests, calls tools, and writes no text of its own. */
export async function miniWire(
  { name }: ProviderSettings,
  { log, clock }: ProviderContext,
  { find, ...places }: Places & { readonly find?: typeof findPackages } = {},
): Promise<MiniWire> {
  const { createMini, loadWordVectors, MiniError, MODEL, SCORES } = await loadPackage(name, places)
  const id = `${name}:${MODEL}`
  const failed = (error: unknown): unknown =>
    error instanceof MiniError
      ? new ModelError(error.message, { retryable: error.retryable, status: error.status })
      : error
  const host: MiniHost = {
    provider: name,
    id,
    log,
    now: () => new Date(clock.wall()),
    check: problemsOf,
    search: searchIn(loadWordVectors),
    startWorker: (options) => startWorker(options, log),
  }
  let logged = false
  const logFormer = (): void => {
    if (!logged) log.info({ model: id }, `${name}:${FORMER_MODEL} was replaced: ${id} answers instead`)
    logged = true
  }
  const mini = unlessFails(() => createMini(host, find), failed)
  return {
    dialect: 'plain',
    get pid() {
      return mini.pid
    },
    async *stream(model, request) {
      request.signal?.throwIfAborted()
      if (model === FORMER_MODEL) logFormer()
      else if (model !== MODEL)
        throw new ModelError(`The provider ${name} has no model '${model}': its only one is ${id}.`)
      const messages = request.messages.map(textMessage)
      const tools = withoutSearch(request.tools)
      const answer = await mini.answer({ ...request, messages, tools }).catch((error: unknown) => {
        throw failed(error)
      })
      yield* answerEvents(request, answer)
    },
    list: async () => [{ name: MODEL, capabilities: ['function-calling'] }],
    scores: async (model) => (model === MODEL || model === FORMER_MODEL ? readScores(SCORES) : undefined),
    embed: (texts, signal, tenant) => mini.embed(texts, signal, tenant),
    close: () => mini.close(),
  }
}

/** The vectors of words in the package; undefined if it isn't installed. */
export async function wordVectors(places: Places = {}): Promise<WordVectors | undefined> {
  const found = await loadPackage('mini', places).catch(() => undefined)
  return found?.loadWordVectors()
}

/** The search of `search_tools`. A list is indexed once. */
function searchIn(load: () => Promise<WordVectors>): MiniHost['search'] {
  const indices = new WeakMap<readonly OfferedTool[], Promise<ToolIndex>>()
  const made = async (tools: readonly OfferedTool[]): Promise<ToolIndex> => {
    const index = new ToolIndex(await load())
    await index.update(tools.map((tool) => [tool.name, tool]))
    return index
  }
  return async (tools, said, most) => {
    const making = indices.get(tools) ?? made(tools)
    indices.set(tools, making)
    const names = (await making).search(said, most, () => true)
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    return names.map((name) => byName.get(name) as OfferedTool)
  }
}

/** The model would say what the search found. It is offered the tools that match the message in any case. */
const withoutSearch = (tools: readonly OfferedTool[]): readonly OfferedTool[] =>
  tools.some(isSearch) ? tools.filter((tool) => !isSearch(tool)) : tools
const isSearch = ({ name }: OfferedTool): boolean => name === SEARCH_TOOLS

function unlessFails<Made>(make: () => Made, failed: (error: unknown) => unknown): Made {
  try {
    return make()
  } catch (error) {
    throw failed(error)
  }
}

type Package = typeof import('@toolyard/mini')

/** Where the package is looked for. */
interface Places {
  readonly beside?: () => Promise<Package>
  readonly project?: string
}

/** Beside Toolyard, else in the project that it runs in: with npx the two are apart. */
async function loadPackage(provider: string, places: Places): Promise<Package> {
  const { beside = () => import('@toolyard/mini'), project = process.cwd() } = places
  try {
    return await beside()
  } catch (error) {
    if (!isMissingPackage(error, [PACKAGE])) throw error
  }
  try {
    const found = createRequire(join(project, 'x.js')).resolve(PACKAGE)
    return await import(pathToFileURL(found).href)
  } catch (error) {
    if (!isMissingPackage(error, [PACKAGE])) throw error
    throw new ModelError(`The model "${provider}:v1" needs the package ${PACKAGE}. Install it: docs/start/install.md`)
  }
}

/** A schema that can't be used rejects everything. */
const problemsOf: MiniHost['check'] = async (schema, params) => {
  try {
    const { check, explain } = compileSchema(schema)
    if (check?.(params) === true) return []
    const problems = check === undefined ? await exactCheck({ schema, params }) : explain(params)
    return problems.map(({ path }) => path)
  } catch {
    return ['parameters']
  }
}

/** A child process for the model: one call at a time, in turns of tenants, and a second try if the process ends. */
export function startWorker(options: WorkerOptions, log: Log = silentLog): Worker {
  const { name, module, read, queue, idleMs } = options
  const pool = new ProcessPool({
    size: 1,
    spare: false,
    memoryMb: MEMORY_MB,
    queue,
    read,
    trusted: true,
    tries: 2,
    killOnAbort: false,
    callTimeoutMs: CALL_TIMEOUT_MS,
    idleMs,
    log,
  })
  const task = { tool: name, module, export: options.export, flags: {}, report: () => {}, log }
  return {
    get pid() {
      return pool.pids[0]
    },
    run: (params, tenant, signal) => pool.run({ ...task, params, tenant, started: false }, signal),
    ended: (error) => error instanceof ToolExecutionError,
    close: () => pool.close(),
  }
}

/** The response of a model that isn't a language model: text or calls. */
type Answer = string | readonly { readonly tool: string; readonly params: Params }[]

const wordsOf = (text: string): string[] => text.match(/(?:(?<!\s)\s+)?\S+/g) ?? []

/** Counts words as tokens. */
async function* answerEvents(request: WireRequest, answer: Answer): AsyncGenerator<ModelEvent> {
  const prompt_tokens = request.messages.reduce((sum, one) => sum + wordsOf(textMessage(one).content ?? '').length, 0)
  const finish = (reason: 'stop' | 'tool_calls' | 'length', completion_tokens: number): ModelEvent => ({
    type: 'finish',
    reason,
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  })
  request.signal?.throwIfAborted()
  if (typeof answer === 'string') {
    const words = wordsOf(answer)
    const said = words.slice(0, request.max_tokens ?? words.length)
    for (const text of said) {
      request.signal?.throwIfAborted()
      yield { type: 'text-delta', text }
    }
    yield finish(said.length < words.length ? 'length' : 'stop', said.length)
    return
  }
  let words = 0
  for (const { tool, params } of answer) {
    const text = JSON.stringify(params)
    const call: ToolCall = { id: `call_${randomUUID()}`, type: 'function', function: { name: tool, arguments: text } }
    words += 1 + wordsOf(text).length
    yield { type: 'tool-call-start', id: call.id, name: tool }
    yield { type: 'tool-call-delta', id: call.id, text }
    yield { type: 'tool-call-end', call }
  }
  yield finish('tool_calls', words)
}
