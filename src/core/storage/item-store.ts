import type { Quota } from './quota.ts'

/** What people save in the web UI: conversations, addresses of lists, and what they think of an answer. */
export type ItemKind = 'thread' | 'view' | 'rating'

/** Names an item. Clients choose ids, so ids of different owners may be equal. */
export interface ItemKey {
  readonly tenant: string
  readonly kind: ItemKind
  /** The id of the key or the user that it belongs to. */
  readonly owner: string
  readonly id: string
}

export interface Item extends ItemKey {
  /** The name of the owner when the item was saved. */
  readonly owner_name: string
  /** What it is about; null if it stands for itself. */
  readonly subject: string | null
  /** A word for lists and filters: the verdict of a rating, `shared`, or the number of questions of a thread. */
  readonly label: string | null
  readonly name: string
  /** JSON text. */
  readonly content: string
  /** In milliseconds since 1970. */
  readonly created_at: number
  readonly updated_at: number
}

export type NewItem = Omit<Item, 'created_at'>

/** An item in a list. The content of threads is left out. */
export type ListedItem = Omit<Item, 'tenant' | 'kind'>

export interface ItemFilter {
  readonly tenant: string
  readonly kind: ItemKind
  /** Only those of this owner; with `orLabel`, also those of others that have this label. */
  readonly owner?: string | undefined
  readonly orLabel?: string | undefined
  readonly subject?: string | undefined
  readonly label?: string | undefined
  readonly limit: number
}

/** What may be stored, and what the caller has seen. */
export interface ItemLimits {
  readonly quota?: Quota
  /** How many items of this kind an owner may have. The oldest ones go, or with `refuse` the new one is refused. */
  readonly most: number
  readonly refuse?: boolean
  /** The `updated_at` of the item that this one replaces; null if there must be none. Default: any. */
  readonly before?: number | null | undefined
}

/** Threads, saved views and ratings. They count against the quota of their tenant. */
export interface ItemStore {
  /** The newest first. */
  list(filter: ItemFilter): Promise<readonly ListedItem[]>
  get(key: ItemKey): Promise<Item | undefined>
  /** Stores or replaces an item. Returns false, and changes nothing, if there is another one than `before`, or too many. */
  put(item: NewItem, limits: ItemLimits): Promise<boolean>
  remove(key: ItemKey): Promise<boolean>
}
