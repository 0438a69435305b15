import type { Caller } from '../../app/callers/callers.ts'
import type { ChatQuestion } from '../../app/durable/durable-run-data.ts'
import type { Installation } from '../../app/installation.ts'
import { type Clock, within } from '../../core/clock.ts'
import { writeLog } from '../../core/log.ts'
import type { ChatKey, ChatTurn, ChatTurns } from '../../core/storage/chat-store.ts'
import type { DurableRun } from '../../core/storage/durable-run-store.ts'
import { textMessage } from '../../models/content.ts'
import type { Message } from '../../models/model.ts'
import { HttpProblem } from '../http/problem.ts'
import { TenantCache } from '../http/tenant-cache.ts'

const MAX_CHAT_MESSAGES = 200
const MAX_CHAT_CHARACTERS = 1_000_000
/** How long a question waits for the end of the answer that the client has just stopped. */
const STOPPED_ANSWER_TIMEOUT_MS = 5_000

/** A question of a chat, while it is answered. */
interface OpenTurn {
  /** The messages before the question. */
  readonly history: readonly Message[]
  /** Stores the conversation that ends with this turn, and the run that answered. Rejects with the reason if it can't. */
  readonly store: (messages: readonly Message[], runId: string) => Promise<void>
  /** Must be called when the turn has ended. */
  readonly end: () => void
}

/** The conversations of chats. Each belongs to one caller, and answers one question at a time. */
export class Conversations {
  readonly #installation: Installation
  readonly #unrecorded: ChatTurns
  readonly #running = new Map<string, Promise<void>>()

  constructor(installation: Installation) {
    this.#installation = installation
    this.#unrecorded = new MemoryChats(installation.clock)
  }

  /** Opens a turn. A known `messageId` replaces that question: the history ends before it. */
  async begin({ tenant, id: caller }: Caller, chat: string, messageId: string): Promise<OpenTurn> {
    const key: ChatKey = { tenant, caller, chat }
    const end = await this.#enter(nameOf(key))
    try {
      const { tenants } = this.#installation
      const chats = this.#chats()
      const quota = tenants.quota(tenant)
      const turns = before(await chats.turns(key, quota), messageId)
      const history = turns.flatMap(({ messages }): Message[] => JSON.parse(messages))
      if (history.length >= MAX_CHAT_MESSAGES) throw full(`${history.length} messages of at most ${MAX_CHAT_MESSAGES}`)
      return {
        history,
        async store(messages, runId) {
          const turn = { messageId, messages: JSON.stringify(turnOf(messages)), runId }
          const { length } = [...turns, turn].map((one) => one.messages).join('')
          if (length > MAX_CHAT_CHARACTERS) {
            throw full(`${length} characters of at most ${MAX_CHAT_CHARACTERS}. This answer was not stored`)
          }
          await chats.add(key, turn, quota)
        },
        end,
      }
    } catch (error) {
      end()
      throw error
    }
  }

  /** Stores the later answer of a run that waited. Must not reject. */
  async continued({ tenant, caller }: DurableRun, question: ChatQuestion, messages: readonly Message[]): Promise<void> {
    const { messageId, chat } = question
    const turn = { messageId, messages: JSON.stringify(turnOf(messages)) }
    if (turn.messages.length > MAX_CHAT_CHARACTERS) return
    await this.#chats()
      .update({ tenant, caller, chat }, turn)
      .catch((err) => writeLog(this.#installation.log, 'error', { err, chat }, 'Could not store the answer of a chat'))
  }

  /** The operator may not want conversations in the store. */
  #chats(): ChatTurns {
    const { storage, config } = this.#installation
    return config.storage?.runs === false ? this.#unrecorded : storage.chats
  }

  async #enter(name: string): Promise<() => void> {
    const earlier = this.#running.get(name)
    if (earlier !== undefined) await within(STOPPED_ANSWER_TIMEOUT_MS, earlier, this.#installation.clock)
    if (this.#running.has(name)) {
      throw new HttpProblem(409, 'The chat is still answering', 'wait for the answer, or stop it, before you ask again')
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(name, promise)
    return () => {
      this.#running.delete(name)
      resolve()
    }
  }
}

const full = (problem: string): HttpProblem =>
  new HttpProblem(409, 'The chat is full', `it has ${problem}. Start a new chat`)

const nameOf = ({ tenant, caller, chat }: ChatKey): string => JSON.stringify([tenant, caller, chat])

/** The turns before the question with this id; all if there is none. */
function before(turns: readonly ChatTurn[], messageId: string): readonly ChatTurn[] {
  const at = turns.findIndex((turn) => turn.messageId === messageId)
  return at === -1 ? turns : turns.slice(0, at)
}

/** The last user message and what followed. Media in results are short texts, as they can be large. */
const turnOf = (messages: readonly Message[]): Message[] =>
  messages
    .slice(messages.findLastIndex(({ role }) => role === 'user'))
    .map((message) => (message.role === 'tool' ? textMessage(message) : message))

/** Chats that are only in memory. */
export class MemoryChats implements ChatTurns {
  readonly #chats: TenantCache<readonly ChatTurn[]>

  constructor(clock: Clock) {
    this.#chats = new TenantCache(clock, (turns) => turns.reduce((size, { messages }) => size + messages.length, 1))
  }

  async turns(key: ChatKey): Promise<readonly ChatTurn[]> {
    return this.#chats.get(key.tenant, nameOf(key)) ?? []
  }

  async add(key: ChatKey, turn: ChatTurn): Promise<void> {
    this.#chats.set(key.tenant, nameOf(key), [...before(await this.turns(key), turn.messageId), turn])
  }

  async addResponse(key: ChatKey, turn: ChatTurn): Promise<boolean> {
    await this.add(key, turn)
    return true
  }

  async remove(key: ChatKey): Promise<void> {
    this.#chats.delete(key.tenant, nameOf(key))
  }

  async update(key: ChatKey, turn: ChatTurn): Promise<void> {
    const turns = await this.turns(key)
    this.#chats.set(
      key.tenant,
      nameOf(key),
      turns.map((each) => (each.messageId === turn.messageId ? { ...each, ...turn } : each)),
    )
  }
}
