import type { AuditFilter } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'

/**
 * One row of a chain, as it is written. Every field must be read back exactly as it was written, or the hash does not
 * fit: texts hold no NUL and are well-formed, numbers are finite.
 */
export interface ChainRow {
  /** The server instance that wrote it: one chain each. */
  readonly chain: string
  /** Its place in the chain, from 1, without gaps. */
  readonly seq: number
  /** Whole milliseconds since 1970. */
  readonly at: number
  readonly tenant: string
  readonly caller: string | null
  readonly source: string | null
  readonly runId: string | null
  readonly tool: string
  readonly model: string | null
  readonly schemaHash: string | null
  readonly paramsHash: string | null
  readonly outcome: 'success' | 'failure' | 'unknown'
  readonly code: string | null
  /** Of double precision. */
  readonly durationMs: number
  readonly attempts: number
  /** Hexadecimal. */
  readonly hash: string
}

/** Closes a stretch of a chain: what stood in it can be removed, and still be told from what is missing. */
export interface Seal {
  readonly chain: string
  readonly fromSeq: number
  readonly toSeq: number
  /** The hash before the first row of the stretch, and that of its last. */
  readonly beforeHash: string
  readonly lastHash: string
  readonly firstAt: number
  readonly lastAt: number
  readonly sealedAt: number
  /** When the rows were removed; null as long as they are there. */
  readonly expiredAt: number | null
  /** HMAC over all of the above, with the installation's key. */
  readonly mac: string
}

/** Figures of one tenant in one minute, hour or day, from one server instance; all fields but `data` name the cell. */
export interface Cell {
  readonly width: 'minute' | 'hour' | 'day'
  /** The beginning of the minute, hour or day (of UTC), in milliseconds since 1970. */
  readonly start: number
  /** `*` for the sum over all tenants. */
  readonly tenant: string
  /** Of calls by tool, of runs by model, or of the parameter sets of one tool. */
  readonly kind: 'call' | 'run' | 'set'
  /** Empty but for sets. */
  readonly tool: string
  /** Tells the later cells of the same time from the first one. */
  readonly model: string
  /** Encoded by the ledger. */
  readonly data: Uint8Array
}

/** What the ledger needs of an engine. */
export interface LedgerTables {
  /**
   * All or nothing. A cell takes the place of the one of the same name that this instance wrote before; a run whose id
   * is there already stays as it is, since a batch may be written twice where nobody knows how the first time ended.
   */
  write(batch: {
    readonly rows: readonly ChainRow[]
    readonly runs: readonly StoredRun[]
    readonly cells: readonly Cell[]
  }): Promise<void>
  /**
   * Newest first, at most `filter.limit` (up to 1,001); `before` is the place in that order (time, chain, seq) of the
   * last row of the page before.
   */
  rows(
    filter: Omit<AuditFilter, 'cursor'>,
    before?: { readonly at: number; readonly chain: string; readonly seq: number },
  ): Promise<readonly ChainRow[]>
  /** The chains that have rows or seals, with whether their instance still lives. */
  chains(): Promise<readonly { readonly chain: string; readonly alive: boolean }[]>
  /** Rows of a chain in order, from `fromSeq` on. */
  stretch(chain: string, fromSeq: number, limit: number): Promise<readonly ChainRow[]>
  /** In order. */
  seals(chain: string): Promise<readonly Seal[]>
  /** A second seal with the same `chain` and `fromSeq` is ignored and gives false: two servers may seal at once. */
  addSeal(seal: Seal): Promise<boolean>
  /** Seals whose `lastAt` is before `before` and whose `expiredAt` is null. */
  expired(before: number): Promise<readonly Seal[]>
  /**
   * Removes the rows of a sealed stretch and, in the same transaction, puts `expiredAt` and `mac` of this seal into the
   * stored one with the same `chain` and `fromSeq`; gives how many rows went.
   */
  removeStretch(seal: Seal): Promise<number>
  cells(query: {
    /** `*` for the sum over all tenants; undefined for each tenant by itself. */
    readonly tenant: string | undefined
    readonly kind: Cell['kind']
    readonly width: Cell['width']
    /** Cells that start then or later, */
    readonly from: number
    /** and before this, where it is given. */
    readonly to?: number
    /** Only cells of this tool; the empty one is a name like any other. Undefined: of all. */
    readonly tool?: string
  }): Promise<readonly Cell[]>
  /** Of all instances; those that start before `before`. */
  removeCells(width: Cell['width'], before: number): Promise<number>
  /** Those that started before `before`. */
  removeRuns(before: number): Promise<number>
}
