import type { ModelInfo } from '../../models/catalogue/model-info.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import type { GlobalOptions } from '../global-options.ts'
import { openManager, withoutServers } from '../open.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

/** `toolyard models`: the configured models, or what one provider really has. */
export async function listModels(
  terminal: Terminal,
  provider: string | undefined,
  options: GlobalOptions,
): Promise<number> {
  const { manager } = await openManager(terminal, options, { change: withoutServers, record: false })
  try {
    const catalogue = await manager.getModels()
    const found = provider === undefined ? catalogue.list() : await catalogue.discover(provider)
    if (terminal.json) terminal.document({ models: found })
    else show(terminal, found, provider)
    return 0
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new UsageError(`${error.message}. Others are added under "providers" in the configuration.`, { cause: error })
  } finally {
    await manager.close()
  }
}

function show(terminal: Terminal, found: readonly ModelInfo[], provider: string | undefined): void {
  const widest = Math.max(0, ...found.map(({ id }) => id.length))
  for (const { id, name, capabilities } of found) {
    const can = capabilities.length > 0 ? `  ${terminal.style('dim', capabilities.join(', '))}` : ''
    terminal.result(printableLine(`${id.padEnd(widest)}  ${name}`) + can)
  }
  if (found.length === 0)
    terminal.note(provider === undefined ? 'No models.' : `${printableLine(provider)} has no models.`)
  if (provider === undefined) {
    terminal.note('These are configured. "toolyard models PROVIDER" asks a provider for all that it has.')
  }
}
