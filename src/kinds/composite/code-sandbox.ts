/** Runs the code of a model, in a child process: in QuickJS, which is WebAssembly in a worker thread. */
import type { RunContinuationState } from 'run'
import type { Handler } from '../../core/handler.ts'
import { loadOptional } from '../../core/optional-package.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'

/** What the code returns and prints, in characters of JSON. */
const MAX_OUTPUT = 65_536
/** The parent refuses calls long before. */
const MAX_BRIDGE_CALLS = 1_500
/** A failed run shows the last characters that were printed. */
const MAX_SHOWN_CONSOLE = 1_000
const MAX_ENGINE_RESULT_BYTES = 1024 * 1024

/** The engine has no memory left to say what happened. */
const NO_MEMORY = 'Job execution error: null'

/**
 * Comes before the code. Only text crosses the border of the sandbox. An error is made when a tool is called, because it
 * then has the line of the call.
 */
const PRELUDE = `return (() => { const first = Number(/:(\\d+):/.exec(new Error('').stack)[1])
  const { stringify, parse } = JSON
  const host = __host
  const lines = []
  let room = ${MAX_OUTPUT}
  const shown = (value) => {
    if (typeof value === 'string') return value
    if (value instanceof Error) return String(value.code ?? value.name) + ': ' + value.message
    try { return stringify(value) ?? String(value) } catch { return String(value) }
  }
  const log = (...values) => {
    if (room < 0) return
    const line = values.map(shown).join(' ')
    lines.push(line.slice(0, room))
    room -= line.length + 1
  }
  const console = Object.freeze({ log, info: log, warn: log, error: log, debug: log })
  const call = (name, params = {}) => {
    const error = new Error('')
    const text = stringify(params) ?? 'null'
    return (async () => {
      const answer = parse(await host.call(name, text))
      if (answer.success) return answer.result
      throw Object.assign(error, { message: answer.error, code: answer.error_code })
    })()
  }
  const none = Object.freeze(Object.create(null))
  const get = (_, name) => typeof name === 'symbol' || name === 'then' || name === 'toJSON' ? undefined : (params) => call(name, params)
  const tools = new Proxy(none, { get })
  return async (main) => {
    let isDone = false, text, stack = ''
    try {
      const value = await main(tools, console)()
      text = stringify(value) ?? 'null'
      isDone = true
    } catch (thrown) {
      text = shown(thrown)
      if (thrown instanceof Error) stack = String(thrown.stack).slice(0, 10000)
    }
    return [isDone, text.slice(0, ${MAX_OUTPUT}), text.length, stack, first, lines.join('\\n'), room < 0]
  }
})()((tools, console) => async () => {
`
const PRELUDE_LINES = PRELUDE.split('\n').length - 1
const END = '\n})'

/** What the prelude returns. */
type Ended = readonly [
  isDone: boolean,
  text: string,
  length: number,
  stack: string,
  /** The first line of the prelude in the stack: the engine adds lines of its own. */
  first: number,
  printed: string,
  isCut: boolean,
]

/** The result of a tool that runs code. */
interface CodeResult {
  readonly result: unknown
  /** What the code printed. */
  readonly console?: string
  /** What was cut. */
  readonly note?: string
}

/** Calls of the code need approval. With the token it continues after the calls that have ended. */
export interface CodeWaits {
  readonly token: string
}

const engine = loadOptional('Code mode', ['run'], async () => {
  const { createRunner, getHostFunctionContext, setMaxWorkers } = await import('run')
  setMaxWorkers(2)
  // The token stays on the server, so it needs no signature.
  const continuationCodec = {
    encode: (state: RunContinuationState) => JSON.stringify(state),
    decode: (token: string): RunContinuationState => JSON.parse(token),
  }
  const { run } = createRunner({ continuationCodec })
  return { run, getHostFunctionContext }
})

/** The first run loads the engine. A process that waits for its first call does it before. */
const warmed = engine.then(({ run }) => run({ source: 'const warm: number = 1' })).catch(() => {})

/** Runs `code`, or continues it. Its calls of tools go to the parent. */
export const runCode: Handler = async ({ code, timeout_ms, memory_mb, token }, { call }) => {
  const { run, getHostFunctionContext } = await engine
  await warmed
  const source = String(code)
  const whole = PRELUDE + source + END
  const callTool = async (name: unknown, params: unknown) => {
    const { interrupt } = getHostFunctionContext()
    const result = await call?.(String(name), JSON.parse(String(params)))
    if (result?.success === false && result.error_code === 'APPROVAL_REQUIRED') interrupt(null)
    return JSON.stringify(result)
  }
  try {
    const ended = await run<Ended>({
      source: whole,
      ...(typeof token === 'string' && { continuation: token, resolutions: waitingIn(token) }),
      hostFunctions: { __host: { call: callTool } },
      limits: {
        timeoutMs: Number(timeout_ms),
        memoryLimitBytes: Number(memory_mb) * 1024 * 1024,
        maxSourceBytes: Buffer.byteLength(whole),
        maxResultBytes: MAX_ENGINE_RESULT_BYTES,
        maxBridgeRequests: MAX_BRIDGE_CALLS,
        maxInFlightBridgeRequests: MAX_BRIDGE_CALLS,
      },
    })
    if (ended.status === 'interrupted') return { token: ended.continuation } satisfies CodeWaits
    return resultOf(ended.value, source)
  } catch (error) {
    throw failureOf(Object(error), source)
  }
}

/** The calls that waited are made again. */
const waitingIn = (token: string) =>
  (JSON.parse(token) as RunContinuationState).ledger.flatMap((entry) =>
    entry.status === 'interrupted' ? [{ interruptionId: entry.interruptionId, value: null }] : [],
  )

function resultOf([isDone, text, length, stack, first, printed, isCut]: Ended, source: string): CodeResult {
  if (!isDone) {
    const tail = printed === '' ? '' : `\nconsole: ${printed.slice(-MAX_SHOWN_CONSOLE)}`
    throw new CodeError(`${text.slice(0, MAX_SHOWN_CONSOLE)}${lineOf(stack, source, first)}${tail}`)
  }
  const bytes = Buffer.byteLength(text)
  const fits = length <= MAX_OUTPUT && bytes <= MAX_OUTPUT
  const shown = fits ? text : startOf(text, MAX_OUTPUT)
  const room = MAX_OUTPUT - Buffer.byteLength(shown)
  const notes = [
    ...(fits ? [] : [`The result is longer than ${MAX_OUTPUT} bytes: this is its start, as text. Return less`]),
    ...(isCut || Buffer.byteLength(printed) > room ? ['The console was cut. Print less'] : []),
  ]
  return {
    result: fits ? JSON.parse(text) : shown,
    ...(printed !== '' && { console: startOf(printed, room) }),
    ...(notes.length > 0 && { note: notes.join('. ') }),
  }
}

/** The first bytes of a text, without half a character. */
const startOf = (text: string, bytes: number): string =>
  Buffer.from(text)
    .subarray(0, bytes)
    .toString()
    .replace(/�{1,3}$/, '')

/** An error of the code itself. */
class CodeError extends Error {}

/** Errors of the engine, in words for the model. Codes of the code must not reach the caller. */
function failureOf(error: { name?: unknown; code?: unknown; message?: unknown; stack?: unknown }, source: string) {
  if (error instanceof CodeError) return error
  const { code, name, message, stack } = error
  if (code === 'RUN_TIMEOUT') return new ToolExecutionError('TIMEOUT', 'The code took too long to compute')
  if (code === 'RUN_DETACHED_BRIDGE_REQUEST') {
    return new CodeError('The code ended before a call that it had made: await every call of a tool')
  }
  if (error instanceof ToolExecutionError) return error
  if (code === 'RUN_BRIDGE_LIMIT') return new CodeError('The code made more calls than the sandbox passes on')
  if (message === NO_MEMORY) return new CodeError('The code ran out of memory')
  return new CodeError(`${name}: ${message}${lineOf(String(stack), source)}`)
}

/** The first line of the code in a stack, in words. */
function lineOf(stack: string, source: string, first = 1): string {
  const last = source.split('\n').length
  for (const [, text] of stack.matchAll(/run\.js:(\d+):\d+/g)) {
    const line = Number(text) - PRELUDE_LINES - first + 1
    if (line >= 1 && line <= last) return ` (line ${line})`
  }
  return ''
}
