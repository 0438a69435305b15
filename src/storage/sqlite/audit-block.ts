import type { ChainRow } from '../ledger/ledger-tables.ts'

/** What calls that look alike have in common, kept once for all of them in a block. */
type Alike = Pick<
  ChainRow,
  'tenant' | 'caller' | 'source' | 'runId' | 'tool' | 'schemaHash' | 'outcome' | 'code' | 'attempts'
>

/** The rows of a block, column by column. */
interface Columns {
  readonly alike: readonly (readonly (string | number | null)[])[]
  /** Which of `alike` each row is of. */
  readonly kind: readonly number[]
  readonly at: readonly number[]
  readonly duration_ms: readonly number[]
  readonly params_hash: readonly (string | null)[]
  readonly hash: readonly string[]
}

/** Rows of one chain that follow each other, as one text. To write one long text is far cheaper than many rows. */
export function packRows(rows: readonly ChainRow[]): string {
  const alike: Alike[] = []
  const known = new Map<string, number>()
  const kind: number[] = []
  let last: ChainRow | undefined
  let index = 0
  for (const row of rows) {
    if (last === undefined || !isAlike(row, last)) {
      const key = JSON.stringify(valuesOf(row))
      const found = known.get(key)
      index = found ?? alike.push(row) - 1
      if (found === undefined) known.set(key, index)
      last = row
    }
    kind.push(index)
  }
  const columns: Columns = {
    alike: alike.map(valuesOf),
    kind,
    at: rows.map(({ at }) => at),
    duration_ms: rows.map(({ durationMs }) => durationMs),
    params_hash: rows.map(({ paramsHash }) => paramsHash),
    hash: rows.map(({ hash }) => hash),
  }
  return JSON.stringify(columns)
}

/** The rows of a block; none of one that somebody has made unreadable, so that they are missing from the chain. */
export function unpackRows(chain: string, fromSeq: number, text: string): ChainRow[] {
  try {
    const { alike, kind, at, duration_ms, params_hash, hash } = JSON.parse(text) as Columns
    const shared = alike.map(alikeOf)
    return kind.map((which, index) => ({
      chain,
      seq: fromSeq + index,
      at: at[index] as number,
      ...(shared[which] as Alike),
      paramsHash: params_hash[index] as string | null,
      durationMs: duration_ms[index] as number,
      hash: hash[index] as string,
    }))
  } catch {
    return []
  }
}

const isAlike = (a: Alike, b: Alike): boolean =>
  a.tool === b.tool &&
  a.tenant === b.tenant &&
  a.caller === b.caller &&
  a.runId === b.runId &&
  a.code === b.code &&
  a.outcome === b.outcome &&
  a.source === b.source &&
  a.schemaHash === b.schemaHash &&
  a.attempts === b.attempts

const valuesOf = (row: Alike) => [
  row.tenant,
  row.caller,
  row.source,
  row.runId,
  row.tool,
  row.schemaHash,
  row.outcome,
  row.code,
  row.attempts,
]

function alikeOf(values: readonly (string | number | null)[]): Alike {
  const [tenant, caller, source, runId, tool, schemaHash, outcome, code, attempts] = values
  return { tenant, caller, source, runId, tool, schemaHash, outcome, code, attempts } as Alike
}
