import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { includedFile } from '../config/include-tools.ts'
import { ConfigError, readConfigFile } from '../config/load-config.ts'
import type { ImportTarget } from './import-target.ts'
import { CONFIG_NAME, configFile, shippedConfig } from './open.ts'
import type { Terminal } from './terminal.ts'
import { UsageError } from './usage-error.ts'
import { withInclude } from './with-include.ts'
import { writeWhole } from './write-whole.ts'

/** The configuration that an import adds to. */
export interface ImportConfiguration {
  readonly file: string
  readonly config: Config
  /** Whether it is there yet. */
  readonly exists: boolean
}

/** The file that `--config` and the environment name, else the one in this folder, which need not be there. */
export async function importConfiguration(
  terminal: Terminal,
  option: string | undefined,
): Promise<ImportConfiguration> {
  const named = configFile(terminal, option)
  // What ships with the package is not for adding to.
  const isNamed = option !== undefined || Boolean(terminal.env.TOOLYARD_CONFIG)
  const file = named === shippedConfig && !isNamed ? terminal.path(CONFIG_NAME) : named
  if (!existsSync(file) && !isNamed) return { file, config: { tools: { enabled: true } }, exists: false }
  try {
    return { file, config: await readConfigFile(file), exists: true }
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error
  }
}

/** Adds the file to `tools.registry`; says whether it was not there. */
export async function addInclude(
  { file, config, exists }: ImportConfiguration,
  { file: into, name }: ImportTarget,
): Promise<boolean> {
  const included = (config.tools?.registry ?? []).map(includedFile)
  if (included.some((one) => one !== undefined && resolve(dirname(file), one) === into)) return false
  const text = exists ? await readFile(file, 'utf8') : JSON.stringify(config)
  await writeWhole(file, withInclude(text, name))
  return true
}
