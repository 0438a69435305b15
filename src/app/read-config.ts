import { checkConfig } from '../config/check-config.ts'
import type { Config } from '../config/config.ts'
import { loadConfigFile } from '../config/load-config.ts'
import type { Environment } from '../core/environment.ts'

interface Source {
  readonly config?: Config
  readonly env?: Environment
}

/** Reads the configuration from its file, or checks the given one, and adds what the environment sets. */
export async function readConfig({ config, env = process.env }: Source, file: string | undefined): Promise<Config> {
  const read = file === undefined ? checkConfig(config ?? {}, 'configuration') : (await loadConfigFile(file)).config
  const proxies = (env.TOOLYARD_TRUST_PROXY ?? '').split(',').flatMap((entry) => entry.trim() || [])
  if (proxies.length === 0) return read
  checkConfig({ server: { trusted_proxies: proxies } }, 'TOOLYARD_TRUST_PROXY')
  return { ...read, server: { ...read.server, trusted_proxies: [...(read.server?.trusted_proxies ?? []), ...proxies] } }
}
