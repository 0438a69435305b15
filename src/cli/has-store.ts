import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolder } from '../models/model-files/model-folder.ts'

/** Whether there is a store: one that `toolyard serve` or `toolyard keys` made, or a database that is named. */
export const hasStore = (env: NodeJS.ProcessEnv = process.env): boolean =>
  Boolean(env.TOOLYARD_DATABASE_URL) || existsSync(join(dataFolder(env), 'toolyard.db'))
