import { readFile } from 'node:fs/promises'
import { ConfigError, checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { includeTools } from './include-tools.ts'

export { ConfigError } from './check-config.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'permission denied',
}

/** Reads and checks a configuration file and its includes. */
export async function loadConfigFile(file: string): Promise<{ readonly config: Config }> {
  return { config: await includeTools(await readConfigFile(file), file) }
}

/** Reads and checks the file without its includes. */
export async function readConfigFile(file: string): Promise<Config> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const reason = REASONS[error.code ?? ''] ?? `it cannot be read (${error.code})`
    throw new ConfigError(`${file}: ${reason}. Name another with --config or TOOLYARD_CONFIG.`)
  })
  return checkConfig(parse(text, file), file)
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new ConfigError(`${file}: not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
}
