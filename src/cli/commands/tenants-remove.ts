import type { GlobalOptions } from '../global-options.ts'
import { readStore } from '../open.ts'
import { tenantName } from '../tenant-name.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

/** `toolyard tenants remove`: forgets the flags that are stored for a tenant. */
export async function tenantsRemove(terminal: Terminal, name: string, options: GlobalOptions): Promise<number> {
  const tenant = tenantName(name)
  const [removed, keys] = await readStore(
    terminal,
    options,
    ({ settings, keys }) => Promise.all([settings.remove('tenant', tenant), keys.list()]),
    [false, []],
  )
  if (!removed) throw new UsageError(`Nothing is stored for tenant '${tenant}'. "toolyard tenants list" lists what is.`)
  const valid = keys.filter((key) => key.tenant === tenant && key.revoked_at === null).length
  if (terminal.json) terminal.document({ id: tenant, removed: true, keys: valid })
  else {
    terminal.result(`Removed the stored flags of ${tenant}`)
    if (valid > 0) terminal.note(`Its keys (${valid}) stay valid: "toolyard keys revoke" ends one.`)
  }
  return 0
}
