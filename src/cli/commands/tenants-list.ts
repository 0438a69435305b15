import type { Flags } from '../../config/callers/listed-tenant.ts'
import { listTenants, storedFlags } from '../../config/callers/tenant-flags.ts'
import { flagWords } from '../flag-words.ts'
import type { GlobalOptions } from '../global-options.ts'
import { configFile, readConfig, readStore } from '../open.ts'
import { showTable } from '../show-table.ts'
import type { Terminal } from '../terminal.ts'

/** `toolyard tenants list`: every tenant that has flags or keys. */
export async function tenantsList(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(configFile(terminal, options.config))
  const [stored, keys] = await readStore(
    terminal,
    options,
    ({ settings, keys }) => Promise.all([storedFlags(settings), keys.list()]),
    [new Map<string, Flags>(), []],
  )
  const listed = listTenants(config, stored, keys)
  if (terminal.json) terminal.document({ tenants: listed })
  else if (listed.length === 0) terminal.note('No tenant has flags or keys yet.')
  else {
    const rows = listed.map(({ id, keys, configured, stored }) => [
      id,
      String(keys),
      flagWords(configured),
      flagWords(stored),
    ])
    showTable(terminal, [['TENANT', 'KEYS', 'CONFIGURED', 'STORED'], ...rows])
    terminal.note('What is stored goes before what is configured.')
  }
  return 0
}
