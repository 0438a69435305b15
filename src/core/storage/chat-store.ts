import type { Quota } from './quota.ts'

/** Names a chat. The client chooses its id, so ids of different callers may be equal. */
export interface ChatKey {
  readonly tenant: string
  /** The id of the key that the chat belongs to. */
  readonly caller: string
  readonly chat: string
}

/** A question of a chat, and everything that the model and its tools added. */
export interface ChatTurn {
  /** The client's id of the user message. */
  readonly messageId: string
  /** The messages as JSON text. */
  readonly messages: string
  /** The run that answered; turns of older versions have none. */
  readonly runId?: string
}

/** Chats whose ids begin with this are responses of `/v1/responses`, one each. They don't count against the quota. */
export const RESPONSE_PREFIX = 'resp_'

/** What the responses of a tenant may take. */
export interface ResponseShare {
  readonly bytes: number
  readonly count: number
}

/** A chat in a list. */
export interface ListedChat extends Omit<ChatKey, 'tenant'> {
  readonly turns: number
  readonly bytes: number
  /** When its oldest and its newest turn were stored, in milliseconds since 1970. */
  readonly first_at: number
  readonly last_at: number
  /** The beginning of the messages of its newest turn. */
  readonly latest: string
}

export interface ChatFilter {
  readonly tenant: string
  readonly caller?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface ChatPage {
  readonly chats: readonly ListedChat[]
  readonly next?: string
}

/** The conversations of clients that name a chat instead of sending its messages. */
export interface ChatStore {
  /** The turns of a chat, oldest first. Throws RATE_LIMITED if the tenant has no room for another one. */
  turns(key: ChatKey, quota?: Quota): Promise<readonly ChatTurn[]>
  /** Appends a turn. If the chat has one with the same message id, removes it and all after it. */
  add(key: ChatKey, turn: ChatTurn, quota?: Quota): Promise<void>
  /** Stores a response. The oldest ones of the tenant go if there are too many. Returns false if it is too large itself. */
  addResponse(key: ChatKey, turn: ChatTurn, share: ResponseShare): Promise<boolean>
  /** Replaces the messages of a turn that the chat still has. Its run stays the same, and so do later turns. */
  update(key: ChatKey, turn: ChatTurn): Promise<void>
  /** Removes a chat with all its turns. */
  remove(key: ChatKey): Promise<void>
  /** The chats of a tenant without responses, the one with the newest turn first. */
  list(filter: ChatFilter): Promise<ChatPage>
}

/** What conversations need of it. */
export type ChatTurns = Omit<ChatStore, 'list'>
