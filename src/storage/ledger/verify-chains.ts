import type { AuditFault, AuditReport } from '../../core/storage/audit.ts'
import type { LedgerTables } from './ledger-tables.ts'
import { verifyChain } from './verify-chain.ts'

/** Walks all chains; `ends` tells where those end that somebody is just writing. */
export async function verifyChains(
  tables: LedgerTables,
  key: string,
  ends: ReadonlyMap<string, { readonly seq: number; readonly hash: string }>,
): Promise<AuditReport> {
  const report = { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0 }
  const faults: AuditFault[] = []
  const found = (await tables.chains()).map(({ chain }) => chain)
  for (const chain of new Set([...found, ...ends.keys()])) {
    const one = await verifyChain(tables, key, chain, ends.get(chain))
    report.chains++
    report.rows += one.rows
    report.expired += one.expired
    report.seals += one.seals
    report.unsealed += one.unsealed
    faults.push(...one.faults)
  }
  return { ...report, faults }
}
