import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { WHERE } from '../bfcl/bfcl-files.ts'
import { SuiteError } from './suite-error.ts'

/** Where data sets stand in a checkout of the project, beside it. */
const BESIDE = join(import.meta.dirname, '../../../../shared/data')

/** The folder with data sets: `TOOLYARD_DATA_SETS`, else the one beside the project; throws a `SuiteError` without. */
export function dataSetsFolder(env: NodeJS.ProcessEnv = process.env): string {
  const named = env.TOOLYARD_DATA_SETS
  const folder = named || BESIDE
  if (existsSync(join(folder, 'bfcl'))) return folder
  const missing = named ? `There is no folder "bfcl" in "${named}" (TOOLYARD_DATA_SETS)` : 'BFCL is not on this machine'
  throw new SuiteError(`${missing}: ${WHERE}`)
}
