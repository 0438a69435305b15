import type { Log } from '../core/log.ts'
import type { CallPayload, CallRecord } from '../core/records/recorder.ts'
import { payloadJson } from '../core/records/redact.ts'
import type { RunStep, RunStore, StoredRun } from '../core/storage/run-store.ts'
import type { ToolFailure } from '../core/tool-result.ts'
import type { Tenants } from './callers/tenants.ts'

/** Whose parameters and results are stored: nobody's, those of failed calls, or all. */
export type PayloadPolicy = 'off' | 'errors' | 'all'

/** Whether the store and the log may hold the parameters and the outcome of a call. */
export const mayHold = (policy: PayloadPolicy, failed: boolean): boolean =>
  policy === 'all' || (policy === 'errors' && failed)

/** The part of a tenant's quota that payloads may fill: jobs, chats and documents need the rest. */
const PAYLOAD_SHARE = 0.5
const MAX_BYTES = 65_536
/** How many characters are tried: one may have six bytes. */
const ATTEMPTS = [MAX_BYTES - 1_000, MAX_BYTES / 8]

/** What a call came to: its result, or the message of its failure. */
export type Outcome = { readonly result: unknown } | { readonly error: string }

/**
 * The parameters and the outcome of a call as JSON without secrets: `{"params", "result" or "error", "shortened"}`. What is
 * too long is shortened. Must not throw: it runs at the end of every call.
 */
export function payloadText(policy: PayloadPolicy, { params }: CallRecord, outcome: Outcome): string | undefined {
  if (!mayHold(policy, 'error' in outcome)) return undefined
  try {
    for (const characters of ATTEMPTS) {
      const text = textOf(params, outcome, characters)
      if (Buffer.byteLength(text) <= MAX_BYTES) return text
    }
  } catch {
    // A call must not fail because of what is stored of it.
  }
  return undefined
}

/** What is stored of a call: within a part of the quota of its tenant. */
export function callPayload(
  policy: PayloadPolicy,
  tenants: Tenants,
  call: CallRecord,
  outcome: Outcome,
): CallPayload | undefined {
  const content = payloadText(policy, call, outcome)
  if (content === undefined) return undefined
  return { content, storageBytes: PAYLOAD_SHARE * tenants.quota(call.tenant).storage_bytes }
}

function textOf(params: unknown, outcome: Outcome, characters: number): string {
  const given = params === undefined ? undefined : payloadJson(params, characters)
  const [name, value] = 'result' in outcome ? ['result', outcome.result] : ['error', outcome.error]
  const came = payloadJson(value, characters - (given?.text.length ?? 0))
  const shown = given === undefined ? '' : `"params":${given.text},`
  return `{${shown}"${name}":${came.text}${given?.shortened || came.shortened ? ',"shortened":true' : ''}}`
}

/** How much of a stored payload `parametersPreview` reads. A preview has at least three quarters of its length. */
export const PREVIEW_SOURCE = 200
const MAX_PREVIEW = 120
const PARAMS = '{"params":'
/** Keys with their colon, and texts that may be cut; brackets and commas; the rest. */
const TOKEN = /"(?:[^"\\]|\\.)*"?:?|[{}[\],]|[^"{}[\],]+/g
const PLAIN_KEY = /^"([\w$-]+)":$/

/**
 * The parameters of a call on one line of at most 120 characters, such as `location: "Berlin", units: "celsius"`, from
 * the beginning of its stored payload. Undefined if the call has none.
 */
export function parametersPreview(start: string): string | undefined {
  if (!start.startsWith(PARAMS)) return undefined
  const source = start.slice(PARAMS.length)
  let text = ''
  let depth = 0
  for (const [token] of source.matchAll(TOKEN)) {
    if (token === '}' || token === ']') depth--
    // The brackets of an object around all parameters are left out.
    const isOuter = depth === 0 && (token === '{' || token === '}')
    if (!isOuter) text += shownToken(token)
    if (token === '{' || token === '[') depth++
    if (depth === 0) break
  }
  const characters = Array.from(text)
  if (characters.length > MAX_PREVIEW) return `${characters.slice(0, MAX_PREVIEW - 1).join('')}…`
  return text === '' ? undefined : text
}

function shownToken(token: string): string {
  if (token === ',') return ', '
  return token.endsWith('":') ? `${PLAIN_KEY.exec(token)?.[1] ?? token.slice(0, -1)}: ` : token
}

/** The step of a run without the parameters and the contents of the result, unless they may be stored. */
export function storableStep(policy: PayloadPolicy, step: RunStep): RunStep {
  if (step.type !== 'tool' || step.result === undefined) return step
  const { params: _params, result, ...rest } = step
  const { success, error_code, tool_name, execution_time_ms, outcome, cost } = Object(result) as Partial<ToolFailure>
  if (mayHold(policy, success === false)) return step
  return { ...rest, result: { success, error_code, tool_name, execution_time_ms, outcome, cost } }
}

/** A run without the parameters and results that may not be stored. The recording has those of all calls. */
export function storableRun(policy: PayloadPolicy, run: StoredRun, withContents: boolean): StoredRun {
  if (policy === 'all' && withContents) return run
  const { recording: _recording, ...rest } = run
  if (withContents) return { ...rest, steps: run.steps.map((step) => storableStep(policy, step)) }
  const steps = run.steps.map(({ text: _text, params: _params, result: _result, ...step }) => step)
  return { ...rest, question: '', answer: '', steps }
}

interface RunParts {
  readonly sink: { run(run: StoredRun): void; flush(): Promise<void> }
  readonly runs: Pick<RunStore, 'trim'>
  readonly tenants: Tenants
  readonly log: Log
}

/** Stores runs, and removes those beyond the quota: at the first run after a start, then after each hundredth of the quota. */
export class RunRecords {
  readonly #parts: RunParts
  /** By tenant: the runs since its runs were trimmed. */
  readonly #made = new Map<string, number>()
  #closed = false

  constructor(parts: RunParts) {
    this.#parts = parts
  }

  add(run: StoredRun): void {
    this.#parts.sink.run(run)
    void this.#trim(run.tenant)
  }

  async #trim(tenant: string): Promise<void> {
    const { sink, runs, tenants, log } = this.#parts
    const most = tenants.quota(tenant).stored_runs
    const made = (this.#made.get(tenant) ?? most) + 1
    const isDue = made * 100 >= most
    this.#made.set(tenant, isDue ? 0 : made)
    if (!isDue) return
    try {
      await sink.flush()
      if (!this.#closed) await runs.trim(tenant, most)
    } catch (err) {
      log.warn({ err, tenant }, 'Old runs could not be removed')
    }
  }

  /** Removes nothing more. */
  close(): void {
    this.#closed = true
  }
}
