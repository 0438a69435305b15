import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import { writeLog } from '../../core/log.ts'
import type { ChatKey, ChatTurns } from '../../core/storage/chat-store.ts'
import { textMessage } from '../../models/content.ts'
import type { Message } from '../../models/model.ts'
import { MemoryChats } from '../ai-sdk/conversations.ts'

const KEPT_MS = 7 * 86_400_000
const MAX_CHARACTERS = 4_000_000
/** The responses of a tenant may take as much as this part of its quota for bytes, beside it. */
const SHARE = 10
const MAX_RESPONSES = 10_000
const ID = /^resp_[0-9a-f]{32}$/

type Wire = Readonly<Record<string, unknown>>

/** A response, and what its continuation needs. */
export interface StoredResponse {
  readonly response: Wire & { readonly output: readonly Wire[] }
  /** The conversation without the instructions, which apply to one response only. */
  readonly messages: readonly Message[]
  /** The ids of the client's calls: ours, and the model's. */
  readonly ids: readonly (readonly [string, string])[]
  readonly at: number
  /** The characters that are stored. */
  readonly size: number
}

/**
 * Responses of `/v1/responses`, each for its own caller only. They are stored like chats, beside the storage quota of the
 * tenant, and encrypted if there is an encryption key.
 */
export class StoredResponses {
  readonly #installation: Installation
  readonly #unrecorded: ChatTurns

  constructor(installation: Installation) {
    this.#installation = installation
    this.#unrecorded = new MemoryChats(installation.clock)
  }

  /** Returns whether the response is stored. A run that has called tools must not fail because it can't be. */
  async put(caller: Caller, id: string, stored: Omit<StoredResponse, 'at' | 'size'>): Promise<boolean> {
    const { seal, tenants, clock, log } = this.#installation
    const key = keyOf(caller, id)
    // Media in results are short texts, as they can be large.
    const messages = stored.messages.map((message) => (message.role === 'tool' ? textMessage(message) : message))
    const text = JSON.stringify({ ...stored, messages, at: clock.wall() })
    try {
      if (text.length > MAX_CHARACTERS) throw new Error(`It has ${text.length} characters of at most ${MAX_CHARACTERS}`)
      const turn = { messageId: id, messages: seal.seal(text, placeOf(key)) }
      const bytes = tenants.quota(caller.tenant).storage_bytes / SHARE
      if (await this.#chats.addResponse(key, turn, { bytes, count: MAX_RESPONSES })) return true
      throw new Error(`It is larger than all responses of a tenant may be together: ${bytes} bytes`)
    } catch (err) {
      writeLog(log, 'warn', { err, response: id }, 'A response could not be stored')
      return false
    }
  }

  /** Undefined if it doesn't exist, has expired, or is another caller's. */
  async get(caller: Caller, id: string): Promise<StoredResponse | undefined> {
    const key = keyOf(caller, id)
    const [turn] = ID.test(id) ? await this.#chats.turns(key) : []
    if (turn === undefined) return undefined
    const { seal, clock } = this.#installation
    const text = seal.open(turn.messages, placeOf(key))
    const stored: StoredResponse = { ...JSON.parse(text), size: text.length }
    return stored.at + KEPT_MS <= clock.wall() ? undefined : stored
  }

  remove(caller: Caller, id: string): Promise<void> {
    return this.#chats.remove(keyOf(caller, id))
  }

  /** The operator may not want conversations in the store. */
  get #chats(): ChatTurns {
    const { storage, config } = this.#installation
    return config.storage?.runs === false ? this.#unrecorded : storage.chats
  }
}

const keyOf = ({ tenant, id: caller }: Caller, chat: string): ChatKey => ({ tenant, caller, chat })

const placeOf = ({ tenant, caller, chat }: ChatKey): string => JSON.stringify(['response', tenant, caller, chat])
