import type { AuditReport } from '../../core/storage/ledger.ts'
import type { GlobalOptions } from '../global-options.ts'
import { readStore } from '../open-store.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'

const NOTHING: AuditReport = { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0, faults: [] }

/** `toolyard audit verify`: walks every chain of the audit; 1 where one does not hold. */
export async function auditVerify(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const report = await readStore(options, ({ ledger }) => ledger.verify(), NOTHING)
  const { chains, rows, seals, unsealed, expired, faults } = report
  if (terminal.json) terminal.document({ ok: faults.length === 0, ...report })
  else {
    for (const { chain, at, problem } of faults) {
      terminal.result(terminal.style('red', printableLine(`${chain}, row ${at}: ${problem}`)))
    }
    const counts = `${count(rows, 'row')} in ${count(chains, 'chain')}, ${count(seals, 'seal')}`
    terminal.note(`Looked at ${counts}; ${unsealed} not sealed yet, ${expired} expired in order.`)
    if (faults.length === 0) terminal.result('The audit holds: nothing was changed, and nothing is missing.')
    else terminal.note(`The audit does not hold: ${count(faults.length, 'fault')}.`)
  }
  return faults.length === 0 ? 0 : 1
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`
