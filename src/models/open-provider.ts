import { systemClock } from '../core/clock.ts'
import { silentLog } from '../core/log.ts'
import { ModelError } from './model-error.ts'
import type { ProviderSettings, ProviderSurroundings } from './provider.ts'
import { ProviderClient } from './provider-client.ts'
import { wires } from './providers/wires.ts'

/** Makes the client of a provider; rejects with a `ModelError` that says what it lacks: a key, a package. */
export async function openProvider(
  settings: Omit<ProviderSettings, 'name'> & { readonly name?: string },
  { log = silentLog, clock = systemClock }: Partial<ProviderSurroundings> = {},
): Promise<ProviderClient> {
  const named = { ...settings, name: settings.name ?? settings.type }
  const make = Object.hasOwn(wires, settings.type) ? wires[settings.type] : undefined
  if (make === undefined) {
    throw new ModelError(`Unknown provider type '${settings.type}' (known: ${Object.keys(wires).join(', ')})`)
  }
  return new ProviderClient(named, await make(named, { log, clock }), { log, clock })
}
