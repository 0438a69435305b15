import type { StoredColumns } from '../../core/records/audit-columns.ts'
import type { AuditFilter, CallEntry, TurnEntry, VersionCall, VersionQuery } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'

/**
 * One row of a chain, as it is written. Every field must be read back exactly as it was written, or the hash does not
 * fit: texts hold no NUL and are well-formed, numbers are finite.
 */
export interface ChainRow extends StoredColumns {
  /** The server instance that wrote it; each has its own chain. */
  readonly chain: string
  /** The number in the chain, from 1, without gaps. */
  readonly seq: number
  /** Whole milliseconds since 1970. */
  readonly at: number
  /** Hexadecimal. */
  readonly hash: string
}

/** Closes a stretch of a chain, so that rows that expired can be told from rows that are missing. */
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
  /** When the rows were removed; null if they were not. */
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
  /** Only for sets; otherwise empty. */
  readonly tool: string
  /** Distinguishes later cells of the same period from the first. */
  readonly model: string
  /** Encoded by the ledger. */
  readonly data: Uint8Array
}

/** The part of an engine that the ledger uses. */
export interface LedgerTables {
  /**
   * All or nothing. A cell replaces the one of the same name that this instance wrote before. A run that is stored
   * already stays as it is: a batch is written again if the outcome of the first attempt is unknown.
   */
  write(batch: {
    readonly rows: readonly ChainRow[]
    readonly runs: readonly StoredRun[]
    readonly cells: readonly Cell[]
    /** Those of the first rows. Their payloads are stored, and their costs added to the counters. */
    readonly calls?: readonly CallEntry[]
    readonly turns?: readonly TurnEntry[]
  }): Promise<void>
  /**
   * Newest first, at most `filter.limit` (up to 1,001); `before` is the place in that order (time, chain, seq) of the
   * last row of the page before. Leaves out rows that `misnumbered` returns. `payloadStart` is the beginning of the stored payload, if `filter.payloadCharacters` is set.
   */
  rows(
    filter: Omit<AuditFilter, 'cursor'>,
    before?: { readonly at: number; readonly chain: string; readonly seq: number },
  ): Promise<readonly (ChainRow & { readonly payloadStart?: string | null })[]>
  /** One row, with the stored payload of its call. */
  row(chain: string, seq: number): Promise<(ChainRow & { readonly payload: string | null }) | undefined>
  /** In the order of their time. Rows with these codes are left out. */
  versionCalls(query: VersionQuery, without: readonly string[]): Promise<readonly VersionCall[]>
  /** The chains that have rows or seals, and whether their instance is alive. */
  chains(): Promise<readonly { readonly chain: string; readonly alive: boolean }[]>
  /** Rows of a chain in order, from `fromSeq` on, without those that `misnumbered` returns. */
  stretch(chain: string, fromSeq: number, limit: number): Promise<readonly ChainRow[]>
  /** The numbers of rows of a chain that are not safe integers, as text: no server writes such rows. */
  misnumbered(chain: string, limit: number): Promise<readonly string[]>
  /** In order. */
  seals(chain: string): Promise<readonly Seal[]>
  /** What `putSeal` stored last; null at first. */
  sealRecord(): Promise<string | null>
  /**
   * Stores a seal of this chain and a record of all seals, both made from the previous record, in one transaction at a
   * time. The seal is new, or takes the place of the one with the same `chain` and `fromSeq` whose MAC is `replaces`.
   * Returns false and changes neither if a new one exists already, as two servers may seal at once, or the other does not.
   */
  putSeal(
    chain: string,
    make: (record: string | null) => { readonly seal: Seal; readonly record: string },
    replaces?: string,
  ): Promise<boolean>
  /** Seals whose `lastAt` is before `before` and whose `expiredAt` is null. */
  expired(before: number): Promise<readonly Seal[]>
  /**
   * Removes the rows of a sealed stretch and, in the same transaction, puts `expiredAt` and `mac` of this seal into the
   * stored one with the same `chain` and `fromSeq`; returns the number of removed rows. Removes none if the MAC of the
   * stored seal is not `replaces`.
   */
  removeStretch(seal: Seal, replaces: string): Promise<number>
  cells(query: {
    /** `*` for the sum over all tenants. */
    readonly tenant: string
    readonly kind: Cell['kind']
    readonly width: Cell['width']
    /** Only cells that start then or later, */
    readonly from: number
    /** and before this. */
    readonly to?: number
    /** Only cells of this tool; the empty name is one, too. */
    readonly tool?: string
  }): Promise<readonly Cell[]>
  /** Removes the cells of these kinds, of all instances, that start before `before`. */
  removeCells(width: Cell['width'], before: number, kinds: readonly Cell['kind'][]): Promise<number>
  removeRuns(before: number): Promise<number>
}
