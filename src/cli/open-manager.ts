import type { Config } from '../config/config.ts'
import type { GlobalOptions } from './global-options.ts'
import { openManager as open } from './open.ts'
import { createTerminal } from './terminal.ts'

export { SWITCHED_OFF, withoutServers } from './open.ts'

export const openManager = (
  options: GlobalOptions,
  change: (config: Config) => Config = (config) => config,
  start?: unknown,
) => open(createTerminal(false), options, { change, record: start === undefined })
