import { LOCAL_TENANT } from '../core/call.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { GlobalOptions } from './global-options.ts'
import { readStore } from './open.ts'
import { printableLine } from './printable.ts'
import { tenantName } from './tenant-name.ts'
import type { Terminal } from './terminal.ts'
import { UsageError } from './usage-error.ts'

export interface TenantOptions extends GlobalOptions {
  readonly tenant?: string
}

export const tenantOf = ({ tenant }: TenantOptions): string =>
  tenant === undefined ? LOCAL_TENANT : tenantName(tenant)

/** A run by its id; that there is none is wrong usage. */
export async function storedRun(terminal: Terminal, id: string, options: TenantOptions): Promise<StoredRun> {
  const tenant = tenantOf(options)
  const run = await readStore(terminal, options, ({ runs }) => runs.get(tenant, id), undefined)
  if (run !== undefined) return run
  throw new UsageError(`Tenant '${tenant}' has no run '${printableLine(id)}': "toolyard runs list" shows those it has.`)
}
