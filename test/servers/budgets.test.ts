import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { disagreements, soakBudgets } from '../../bench/soak/budgets.ts'
import { startDatabases } from '../postgres/databases.ts'
import { FULL } from '../setup/full.ts'

const CALLS = FULL ? 20_000 : 300

test.each(['SQLite', 'PostgreSQL'])(
  'servers on %s lose no cent, whatever they do at once',
  { timeout: 900_000 },
  async (store) => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-budgets-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const databases = store === 'SQLite' ? undefined : await startDatabases()
    onTestFinished(async () => databases?.stop())
    const url = await databases?.create()
    const env = { TOOLYARD_DATA: folder, ...(url !== undefined && { TOOLYARD_DATABASE_URL: url }) }
    const soaked = await soakBudgets(env, (calls) => calls >= CALLS)
    expect(disagreements(soaked)).toEqual([])
    expect(soaked.calls).toBeGreaterThanOrEqual(CALLS)
    expect(soaked.audit).toBeGreaterThan(0)
    expect(soaked.models).toBeGreaterThan(0)
  },
)
