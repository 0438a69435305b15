import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { isInlineFor } from '../../core/schema/schema-compiler.ts'
import type { Pause, PauseStore } from '../../core/storage/pause-store.ts'
import type { JsonSchema, Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Answer, PersonInbox, Question } from '../../mcp/client/person-client.ts'

/** How long a question can be answered. The call waits. */
const ANSWER_MS = 10 * 60_000
const MAX_PENDING = 20
/** A person reads it, and lists contain many. */
const MAX_CHARACTERS = 16_384
const CHECK_MS = 5_000

/** A question as it is stored: the parameters of a pause of the kind `input`. */
type StoredQuestion = Pick<Question, 'kind' | 'server' | 'request'>

interface QuestionsOptions {
  readonly pauses: PauseStore
  readonly clock: Clock
  readonly log: Log
  readonly onAsk: (pause: Pause) => void
}

interface Waiting {
  readonly tenant: string
  readonly settle: (pause: Pause | undefined) => void
}

/** Questions of MCP servers that people answer. Any server of the installation can take the answer. */
export class Questions implements PersonInbox {
  readonly #options: QuestionsOptions
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  async ask({ tenant, caller, user, tool, kind, server, request }: Question, signal: AbortSignal): Promise<Answer> {
    const { pauses, clock, onAsk } = this.#options
    signal.throwIfAborted()
    const stored: StoredQuestion = { kind, server, request }
    const { length } = JSON.stringify(stored)
    if (length > MAX_CHARACTERS) {
      throw new ToolExecutionError('EXECUTION_ERROR', `A person reads ${MAX_CHARACTERS} characters, not ${length}`)
    }
    const now = clock.wall()
    const id = randomUUID()
    const { pause } = await pauses.ask(
      {
        ...{ id, kind: 'input', tenant, caller, tool, version: '', params: { ...stored } },
        // Each question is one of its own, whatever it asks.
        params_hash: id,
        subject: user ?? null,
        ...{ root_hash: null, definitions: null, run_id: null, call_id: null, root_key: null },
        ...{ requested_at: now, expires_at: now + ANSWER_MS },
      },
      MAX_PENDING,
    )
    onAsk(pause)
    const decided = await this.#decision(pause, signal)
    if (decided === undefined) {
      await this.#withdraw(pause, signal.aborted)
      return { expired: true }
    }
    if (decided.decision !== 'approve') return { expired: false }
    await pauses.begin(tenant, id, clock.wall())
    return { answer: decided.decided_params ?? {} }
  }

  /** Looks for answers to the questions that calls of this server wait for. */
  async check(): Promise<void> {
    const { pauses } = this.#options
    await Promise.all(
      [...this.#waiting].map(async ([id, { tenant, settle }]) => {
        const pause = await pauses.get(tenant, id)
        if (pause === undefined || pause.decision !== null) settle(pause)
      }),
    )
  }

  /** Undefined if nobody decided in time, or the call ended. */
  #decision({ id, tenant, expires_at }: Pause, signal: AbortSignal): Promise<Pause | undefined> {
    const { clock, log } = this.#options
    const { promise, resolve } = Promise.withResolvers<Pause | undefined>()
    const end = () => resolve(undefined)
    let cancel = () => {}
    // Notifications can be lost.
    const look = (): void => {
      if (!this.#waiting.has(id)) return
      if (clock.wall() >= expires_at) {
        end()
        return
      }
      cancel = clock.after(Math.min(CHECK_MS, expires_at - clock.wall()), () => {
        this.check().then(look, (err: unknown) => {
          writeLog(log, 'warn', { err }, 'Could not look for answers to questions of MCP servers')
          look()
        })
      })
    }
    this.#waiting.set(id, { tenant, settle: resolve })
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    look()
    return promise.finally(() => {
      cancel()
      signal.removeEventListener('abort', end)
      this.#waiting.delete(id)
    })
  }

  /** Nobody should answer a call that has ended. */
  async #withdraw({ tenant, id, tool }: Pause, ended: boolean): Promise<void> {
    if (!ended) return
    const { pauses, clock, log } = this.#options
    const now = clock.wall()
    const by = { decided_by: '', decided_by_name: tool, decided_at: now, expires_at: now + ANSWER_MS }
    await pauses
      .decide(tenant, id, { decision: 'reject', decided_params: null, ...by, reason: 'The call has ended' })
      .catch((err: unknown) => writeLog(log, 'warn', { err }, 'Could not withdraw a question of an MCP server'))
  }
}

/** What people see of a question. */
export function questionOf({ kind, params }: Pick<Pause, 'kind' | 'params'>): StoredQuestion | undefined {
  return kind === 'input' ? (params as unknown as StoredQuestion) : undefined
}

/** Why an answer can't be given; undefined if it can. */
export function answerProblem({ kind, request }: StoredQuestion, answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return 'params must be a JSON object'
  if (JSON.stringify(answer).length > MAX_CHARACTERS) return `An answer may have ${MAX_CHARACTERS} characters`
  if (kind === 'sampling') {
    const { text, ...more } = answer as Params
    const isText = typeof text === 'string' && text !== '' && Object.keys(more).length === 0
    return isText ? undefined : 'params must be {"text": "…"}, the answer in place of the model'
  }
  try {
    const schema = compileSchema(request.requestedSchema as JsonSchema)
    if (!isInlineFor(schema, answer)) return 'The schema of the question is too complex to check the answer: decline it'
    return schema.check(answer) ? undefined : schema.explain(answer)[0]?.message
  } catch {
    return 'The schema of the question is not valid, so that it can only be declined'
  }
}
