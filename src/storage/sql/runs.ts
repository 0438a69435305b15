import type { Clock } from '../../core/clock.ts'
import {
  type ChatFilter,
  type ChatKey,
  type ChatPage,
  type ChatStore,
  type ChatTurn,
  type ListedChat,
  RESPONSE_PREFIX,
  type ResponseShare,
} from '../../core/storage/chat-store.ts'
import { checkQuota, type Quota, type StoredUsage } from '../../core/storage/quota.ts'
import type { ListedRun, RunFilter, RunPage, RunStore, StoredRun } from '../../core/storage/run-store.ts'
import {
  addToolUse,
  type DoubtfulToolUse,
  KEPT_FAILURES,
  KEPT_SCHEMAS,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'
import {
  KEPT_TESTS,
  type ModelTest,
  type StoredValidation,
  type ValidationStore,
} from '../../core/storage/validation-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import {
  ADD_BYTES,
  ask,
  type Database,
  freeBytes,
  type Statement,
  SWEEP_LIMIT,
  USAGE,
  Where,
  type Work,
} from './database.ts'

const LIST = `
  SELECT id, tenant, caller, model, service, started_at, duration_ms, stop_reason, iterations, tool_calls,
    prompt_tokens, completion_tokens, cost, error, question, answer, mocked
  FROM toolyard.runs WHERE`

const CALLED = `EXISTS (
  SELECT 1 FROM toolyard.audit WHERE audit.run_id = runs.id AND audit.tenant = runs.tenant AND audit.tool = ?)`

const timeText = (ms: number | undefined): string | undefined => (ms === undefined ? ms : new Date(ms).toISOString())

const COLUMNS = {
  tenant: 'text',
  id: 'text',
  caller: 'text',
  model: 'text',
  service: 'text',
  started_at: 'text',
  duration_ms: 'double precision',
  stop_reason: 'text',
  iterations: 'bigint',
  tool_calls: 'bigint',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  cost: 'double precision',
  error: 'text',
  question: 'text',
  answer: 'text',
  steps: 'text',
  gate: 'text',
  recording: 'text',
  parent_run: 'text',
  mocked: 'smallint',
} satisfies Record<keyof StoredRun, string>

type ListedRow = Omit<ListedRun, 'mocked'> & { readonly mocked: number | null }

/** A run as a row: `steps` and `gate` are JSON texts. */
type RunRow = ListedRow & {
  readonly parent_run: string | null
  readonly steps: string
  readonly gate: string | null
  readonly recording: string | null
}

/** Reads runs; the ledger writes them. */
export class Runs implements RunStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list({ tenant, model, stopReason, tool, caller, from, to, limit, cursor }: RunFilter): Promise<RunPage> {
    const after = cursor === undefined ? undefined : readCursor(cursor, 'string')
    const where = new Where().and('tenant = ?', tenant).and('model = ?', model).and('stop_reason = ?', stopReason)
    where.and('caller = ?', caller).and(CALLED, tool).and('started_at >= ?', timeText(from))
    where.and('started_at < ?', timeText(to))
    if (after !== undefined) where.and('(started_at, id) < (?, ?)', ...after)
    const sql = [LIST, where.sql, 'ORDER BY started_at DESC, id DESC LIMIT ?'].join(' ')
    const { rows } = await this.#database.run<ListedRow>(sql, [...where.values, limit + 1])
    const runs = rows.slice(0, limit).map(listedRun)
    const last = runs.at(-1)
    if (rows.length <= limit || last === undefined) return { runs }
    return { runs, next: Buffer.from(JSON.stringify([last.started_at, last.id])).toString('base64url') }
  }

  async trim(tenant: string, most: number): Promise<number> {
    const { rows } = await this.#database.run<{ started_at: string; id: string }>(OLDEST_TO_KEEP, [tenant, most - 1])
    if (rows[0] === undefined) return 0
    return (await this.#database.run(REMOVE_OLDER, [tenant, rows[0].started_at, rows[0].id])).count
  }

  async get(tenant: string, id: string): Promise<StoredRun | undefined> {
    const sql = 'SELECT * FROM toolyard.runs WHERE tenant = ? AND id = ?'
    const { rows } = await this.#database.run<RunRow>(sql, [tenant, id])
    if (rows[0] === undefined) return undefined
    const { steps, gate, recording, parent_run, ...run } = rows[0]
    return {
      ...listedRun(run),
      steps: JSON.parse(steps),
      ...(gate !== null && { gate: JSON.parse(gate) }),
      ...(recording !== null && { recording }),
      ...(parent_run !== null && { parent_run }),
    }
  }

  async children(tenant: string, id: string, limit: number): Promise<readonly ListedRun[]> {
    const sql = [LIST, 'tenant = ? AND parent_run = ? ORDER BY started_at, id LIMIT ?'].join(' ')
    return (await this.#database.run<ListedRow>(sql, [tenant, id, limit])).rows.map(listedRun)
  }

  tenantOf(id: string): Promise<string | undefined> {
    return tenantOf(this.#database, 'runs', id)
  }
}

const listedRun = ({ mocked, ...run }: ListedRow): ListedRun => ({ ...run, ...(mocked === 1 && { mocked: true }) })

/** The tenant of a row, by its id. */
export async function tenantOf(
  database: Database,
  table: 'runs' | 'jobs' | 'pauses' | 'durable_runs',
  id: string,
): Promise<string | undefined> {
  const sql = ['SELECT tenant FROM', `toolyard.${table}`, 'WHERE id = ? LIMIT 1'].join(' ')
  return (await database.run<{ tenant: string }>(sql, [id])).rows[0]?.tenant
}

const OLDEST_TO_KEEP = `
  SELECT started_at, id FROM toolyard.runs WHERE tenant = ? ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ?`
const REMOVE_OLDER = 'DELETE FROM toolyard.runs WHERE tenant = ? AND (started_at, id) < (?, ?)'

/** A run that is stored already stays as it is: a batch whose answer was lost is written twice. */
export function insertRuns(database: Database, runs: readonly StoredRun[]): Statement {
  const rows = runs.map((run) => {
    const texts: RunRow = {
      ...run,
      steps: JSON.stringify(run.steps),
      gate: run.gate === undefined ? null : JSON.stringify(run.gate),
      recording: run.recording ?? null,
      parent_run: run.parent_run ?? null,
      mocked: run.mocked ? 1 : null,
    }
    return (Object.keys(COLUMNS) as (keyof StoredRun)[]).map((name) => texts[name])
  })
  return database.insert('toolyard.runs', COLUMNS, rows, 'ON CONFLICT (tenant, id) DO NOTHING')
}

/** A cursor is the time and the id of the last row of its page. */
export function readCursor(cursor: string, time: 'string' | 'number'): readonly [time: unknown, id: string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 2) {
      const [at, id] = value as unknown[]
      if (typeof at === time && typeof id === 'string') return [at, id]
    }
  } catch {
    // Reported below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is not a cursor of an earlier page`,
  )
}

const LIST_VALIDATIONS = `
  SELECT model_id, test_count, success_count, test_history FROM toolyard.validations
  WHERE tenant = ? ORDER BY model_id`
const GET_VALIDATION = `
  SELECT model_id, test_count, success_count, test_history FROM toolyard.validations
  WHERE tenant = ? AND model_id = ?`
const PUT_VALIDATION = `
  INSERT INTO toolyard.validations (tenant, model_id, test_count, success_count, test_history) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (tenant, model_id) DO UPDATE SET test_count = excluded.test_count,
    success_count = excluded.success_count, test_history = excluded.test_history`
const CLEAR_VALIDATIONS = 'DELETE FROM toolyard.validations WHERE tenant = ?'

type ValidationRow = Omit<StoredValidation, 'test_history'> & { readonly test_history: string }

/** Test results of models, by tenant. */
export class Validations implements ValidationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(tenant: string): Promise<readonly StoredValidation[]> {
    const { rows } = await this.#database.run<ValidationRow>(LIST_VALIDATIONS, [tenant])
    return rows.map(readValidation)
  }

  record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation> {
    return this.#database.change('validations', function* () {
      const { rows } = yield* ask<ValidationRow>(GET_VALIDATION, [tenant, model])
      const before = rows[0] && readValidation(rows[0])
      const validation: StoredValidation = {
        model_id: model,
        test_count: (before?.test_count ?? 0) + 1,
        success_count: (before?.success_count ?? 0) + (test.success ? 1 : 0),
        test_history: [...(before?.test_history ?? []), test].slice(-KEPT_TESTS),
      }
      yield* putValidation(tenant, validation)
      return validation
    })
  }

  replace(tenant: string, validations: readonly StoredValidation[]): Promise<void> {
    return this.#database.change('validations', function* () {
      yield* ask(CLEAR_VALIDATIONS, [tenant])
      for (const validation of validations) yield* putValidation(tenant, validation)
    })
  }
}

function* putValidation(tenant: string, validation: StoredValidation): Work<void> {
  const { model_id, test_count, success_count, test_history } = validation
  const history = JSON.stringify(test_history.slice(-KEPT_TESTS))
  yield* ask(PUT_VALIDATION, [tenant, model_id, test_count, success_count, history])
}

const readValidation = (row: ValidationRow): StoredValidation => ({
  ...row,
  test_history: JSON.parse(row.test_history),
})

const LIST_TOOL_USE = 'SELECT * FROM toolyard.tool_use WHERE tenant = ? ORDER BY model_id, tool, schema_hash'
const GET_TOOL_USE = `
  SELECT * FROM toolyard.tool_use WHERE tenant = ? AND model_id = ? AND tool = ? AND schema_hash = ?`
const PUT_TOOL_USE = `
  INSERT INTO toolyard.tool_use (tenant, model_id, tool, schema_hash, trials, successes, last_used, details)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, model_id, tool, schema_hash) DO UPDATE SET trials = excluded.trials,
    successes = excluded.successes, last_used = excluded.last_used, details = excluded.details`
/** A tool whose description changes at every start must not fill the table. */
const FORGET_OLDEST = `
  DELETE FROM toolyard.tool_use WHERE tenant = ? AND model_id = ? AND tool = ? AND schema_hash NOT IN (
    SELECT schema_hash FROM toolyard.tool_use WHERE tenant = ? AND model_id = ? AND tool = ?
    ORDER BY last_used DESC, schema_hash LIMIT ?
  )`
const CLEAR_TOOL_USE = 'DELETE FROM toolyard.tool_use WHERE tenant = ?'
const DOUBTFUL = `
  SELECT tenant, model_id, tool, schema_hash, trials, successes FROM toolyard.tool_use
  WHERE trials >= ? AND successes < CAST(? AS double precision) * trials`

interface ToolUseRow {
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
  readonly last_used: string
  /** JSON: the counts by source, the kinds of failures, and the last failures. */
  readonly details: string
}

/** How models use tools, by tenant. */
export class ToolUse implements ToolUseStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(tenant: string): Promise<readonly StoredToolUse[]> {
    const { rows } = await this.#database.run<ToolUseRow>(LIST_TOOL_USE, [tenant])
    return rows.map(readToolUse)
  }

  add(additions: readonly ToolUseAddition[]): Promise<void> {
    return this.#database.change('validations', function* () {
      for (const { tenant, ...more } of additions) {
        const version = [tenant, more.model_id, more.tool]
        const { rows } = yield* ask<ToolUseRow>(GET_TOOL_USE, [...version, more.schema_hash])
        yield* putToolUse(tenant, addToolUse(rows[0] && readToolUse(rows[0]), more))
        if (rows.length === 0) yield* ask(FORGET_OLDEST, [...version, ...version, KEPT_SCHEMAS])
      }
    })
  }

  replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void> {
    return this.#database.change('validations', function* () {
      yield* ask(CLEAR_TOOL_USE, [tenant])
      for (const use of uses) yield* putToolUse(tenant, use)
    })
  }

  async doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]> {
    return (await this.#database.run<DoubtfulToolUse>(DOUBTFUL, [minimumTrials, threshold])).rows
  }
}

function* putToolUse(tenant: string, use: StoredToolUse): Work<void> {
  const { model_id, tool, schema_hash, last_used, suite, run, failure_kinds } = use
  const failures = use.failures.slice(-KEPT_FAILURES)
  const details = JSON.stringify({ suite, run, failure_kinds, failures })
  const counts = [suite.trials + run.trials, suite.successes + run.successes]
  yield* ask(PUT_TOOL_USE, [tenant, model_id, tool, schema_hash, ...counts, last_used, details])
}

function readToolUse({ model_id, tool, schema_hash, last_used, details }: ToolUseRow): StoredToolUse {
  const { suite, run, failure_kinds, failures } = JSON.parse(details)
  return { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures }
}

const LIST_TURNS = `
  SELECT message_id, messages, run_id FROM toolyard.chat_turns WHERE tenant = ? AND caller = ? AND chat = ? ORDER BY id`
const CUT_CHAT = `
  DELETE FROM toolyard.chat_turns WHERE tenant = ? AND caller = ? AND chat = ? AND id >= (
    SELECT min(id) FROM toolyard.chat_turns WHERE tenant = ? AND caller = ? AND chat = ? AND message_id = ?)
  RETURNING tenant, chat, bytes`
const ADD_TURN = `
  INSERT INTO toolyard.chat_turns (tenant, caller, chat, message_id, messages, run_id, bytes, at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const TURN_BYTES = `
  SELECT tenant, chat, bytes FROM toolyard.chat_turns WHERE tenant = ? AND caller = ? AND chat = ? AND message_id = ?`
const UPDATE_TURN = `
  UPDATE toolyard.chat_turns SET messages = ?, bytes = ? WHERE tenant = ? AND caller = ? AND chat = ? AND message_id = ?`
const REMOVE_CHAT = `
  DELETE FROM toolyard.chat_turns WHERE tenant = ? AND caller = ? AND chat = ? RETURNING tenant, chat, bytes`
const SWEEP_TURNS = `
  DELETE FROM toolyard.chat_turns WHERE id IN (SELECT id FROM toolyard.chat_turns WHERE at < ? LIMIT ?)
  RETURNING tenant, chat, bytes`
/** Keeps the newest responses of a tenant. */
const TRIM_RESPONSES = `
  DELETE FROM toolyard.chat_turns WHERE id IN (SELECT id FROM (
    SELECT id, sum(bytes) OVER (ORDER BY id DESC) AS total, row_number() OVER (ORDER BY id DESC) AS place
    FROM toolyard.chat_turns WHERE tenant = ? AND substr(chat, 1, 5) = 'resp_') AS newest
    WHERE total > ? OR place > ?)`

interface TurnRow {
  readonly message_id: string
  readonly messages: string
  readonly run_id: string | null
}

interface Removed {
  readonly tenant: string
  readonly chat: string
  readonly bytes: number
}

const isCounted = ({ chat }: Pick<ChatKey, 'chat'>): boolean => !chat.startsWith(RESPONSE_PREFIX)

/** Responses are limited by themselves. */
const freeTurns = (rows: readonly Removed[]): Work<void> => freeBytes(rows.filter(isCounted))

const LIST_CHATS = `
  SELECT caller, chat, count(*) AS turns, CAST(sum(bytes) AS bigint) AS bytes, min(at) AS first_at, max(at) AS last_at,
    max(id) AS newest FROM toolyard.chat_turns WHERE`
/** A response is for its own caller only. */
const NO_RESPONSE = "substr(chat, 1, 5) <> 'resp_'"
const LATEST = `
  SELECT listed.caller, listed.chat, turns, listed.bytes, first_at, last_at, newest, substr(messages, 1, 500) AS latest
  FROM (`

/** Conversations of AI SDK clients. */
export class Chats implements ChatStore {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  async turns(key: ChatKey, quota?: Quota): Promise<readonly ChatTurn[]> {
    if (quota !== undefined) {
      const used = await this.#database.run<StoredUsage>(USAGE, usageOf(key))
      checkQuota(key.tenant, quota, used.rows[0] as StoredUsage, { storage_bytes: 1 })
    }
    const { rows } = await this.#database.run<TurnRow>(LIST_TURNS, nameOf(key))
    return rows.map(({ message_id, messages, run_id }) => ({
      messageId: message_id,
      messages,
      ...(run_id !== null && { runId: run_id }),
    }))
  }

  async add(key: ChatKey, { messageId, messages, runId }: ChatTurn, quota?: Quota): Promise<void> {
    const name = nameOf(key)
    const bytes = Buffer.byteLength(messages)
    const at = this.#clock.wall()
    await this.#database.transaction(function* () {
      const cut = yield* ask<Removed>(CUT_CHAT, [...name, ...name, messageId])
      yield* freeTurns(cut.rows)
      if (quota !== undefined) {
        const used = yield* ask<StoredUsage>(USAGE, usageOf(key))
        checkQuota(key.tenant, quota, used.rows[0] as StoredUsage, { storage_bytes: bytes })
      }
      yield* ask(ADD_TURN, [...name, messageId, messages, runId ?? null, bytes, at])
      if (isCounted(key)) yield* ask(ADD_BYTES, [key.tenant, bytes])
    })
  }

  async addResponse(key: ChatKey, { messageId, messages }: ChatTurn, share: ResponseShare): Promise<boolean> {
    const bytes = Buffer.byteLength(messages)
    if (bytes > share.bytes) return false
    const at = this.#clock.wall()
    await this.#database.transaction(function* () {
      // One at a time for each tenant: two of them would wait for the rows of each other.
      yield* ask(ADD_BYTES, [key.tenant, 0])
      yield* ask(REMOVE_CHAT, nameOf(key))
      yield* ask(ADD_TURN, [...nameOf(key), messageId, messages, null, bytes, at])
      yield* ask(TRIM_RESPONSES, [key.tenant, share.bytes, share.count])
    })
    return true
  }

  async update(key: ChatKey, { messageId, messages }: ChatTurn): Promise<void> {
    const turn = [...nameOf(key), messageId]
    const bytes = Buffer.byteLength(messages)
    await this.#database.transaction(function* () {
      const { rows } = yield* ask<Removed>(TURN_BYTES, turn)
      if (rows.length === 0) return
      yield* freeTurns(rows)
      yield* ask(UPDATE_TURN, [messages, bytes, ...turn])
      if (isCounted(key)) yield* ask(ADD_BYTES, [key.tenant, bytes])
    })
  }

  async remove(key: ChatKey): Promise<void> {
    await this.#database.transaction(function* () {
      const { rows } = yield* ask<Removed>(REMOVE_CHAT, nameOf(key))
      yield* freeTurns(rows)
    })
  }

  /** By the id of the newest turn, which grows. */
  async list({ tenant, caller, limit, cursor }: ChatFilter): Promise<ChatPage> {
    const [before] = cursor === undefined ? [] : readCursor(cursor, 'number')
    const where = new Where().and('tenant = ?', tenant).and('caller = ?', caller).and(NO_RESPONSE)
    const having = before === undefined ? '' : 'HAVING max(id) < ?'
    const grouped = [LIST_CHATS, where.sql, 'GROUP BY caller, chat', having, 'ORDER BY newest DESC LIMIT ?'].join(' ')
    const sql = [LATEST, grouped, ') AS listed JOIN toolyard.chat_turns ON id = newest ORDER BY newest DESC'].join(' ')
    const values = [...where.values, ...(before === undefined ? [] : [before]), limit + 1]
    const { rows } = await this.#database.run<ListedChat & { readonly newest: number }>(sql, values)
    const chats = rows.slice(0, limit).map(({ newest: _newest, ...chat }) => chat)
    const last = rows[limit - 1]
    if (rows.length <= limit || last === undefined) return { chats }
    return { chats, next: Buffer.from(JSON.stringify([last.newest, ''])).toString('base64url') }
  }

  /** Removes turns from before this time. */
  async sweep(before: number): Promise<void> {
    await this.#database.transaction(function* () {
      const { rows } = yield* ask<Removed>(SWEEP_TURNS, [before, SWEEP_LIMIT])
      yield* freeTurns(rows)
    })
  }
}

const nameOf = ({ tenant, caller, chat }: ChatKey) => [tenant, caller, chat]

const usageOf = ({ tenant }: ChatKey) => [tenant, tenant, tenant, tenant, tenant]
