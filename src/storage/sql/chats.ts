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
import {
  ADD_BYTES,
  ask,
  type Database,
  type Expiry,
  freeBytes,
  type StoreEntry,
  SWEEP_LIMIT,
  USAGE,
  Where,
  type Work,
} from './database.ts'
import { readCursor } from './runs.ts'
import type { Table } from './table.ts'

const turnTable: Table = {
  name: 'chat_turns',
  since: 9,
  columns: {
    id: 'serial',
    tenant: 'id',
    caller: 'id',
    chat: 'id',
    message_id: 'id',
    messages: 'text',
    bytes: 'bigint',
    at: 'real',
    // The run that answered the question.
    run_id: { type: 'text?', since: 22 },
  },
  key: 'id',
  indexes: {
    chat_turns_by_time: 'at',
    chat_turns_of_responses: { on: 'tenant, id, bytes', where: "substr(chat, 1, 5) = 'resp_'", since: 18 },
    // Lists of chats read the index only, not the messages.
    chat_turns_by_chat: { on: 'tenant, caller, chat, id', include: 'bytes, at', since: 21 },
  },
  large: true,
  sealed: { messages: { place: 'tenant, caller, chat', kind: 'response' } },
  steps: { 21: { before: 'DROP INDEX IF EXISTS toolyard.chat_turns_by_chat' } },
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
class Chats implements ChatStore {
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

  async sweep({ before }: Expiry): Promise<void> {
    await this.#database.transaction(function* () {
      const { rows } = yield* ask<Removed>(SWEEP_TURNS, [before, SWEEP_LIMIT])
      yield* freeTurns(rows)
    })
  }
}

export const chats: StoreEntry<ChatStore> = {
  tables: [turnTable],
  open: (database, clock) => new Chats(database, clock),
}

const nameOf = ({ tenant, caller, chat }: ChatKey) => [tenant, caller, chat]

const usageOf = ({ tenant }: ChatKey) => [tenant, tenant, tenant, tenant, tenant]
