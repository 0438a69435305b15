import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { llamaWire } from '../llama/llama-wire.ts'
import { miniWire } from '../mini-wire.ts'
import { ModelError } from '../model-error.ts'
import type { ProviderContext, ProviderSettings, WireMaker } from '../provider.ts'
import { anthropicWire, geminiWire, openaiWire } from './hosted.ts'
import { ollamaWire } from './ollama.ts'
import { ProviderClient } from './provider-client.ts'

const wires: Readonly<Record<string, WireMaker>> = {
  openai: openaiWire,
  anthropic: anthropicWire,
  gemini: geminiWire,
  ollama: ollamaWire,
  llama: llamaWire,
  mini: miniWire,
}

/** Opens a provider; rejects with a `ModelError` that names a missing key or package. */
export async function openProvider(
  settings: Omit<ProviderSettings, 'name'> & { readonly name?: string },
  { log = silentLog, clock = systemClock }: Partial<ProviderContext> = {},
): Promise<ProviderClient> {
  const named = { ...settings, name: settings.name ?? settings.type }
  const make = Object.hasOwn(wires, settings.type) ? wires[settings.type] : undefined
  if (make === undefined) {
    throw new ModelError(`Unknown provider type '${settings.type}' (known: ${Object.keys(wires).join(', ')})`)
  }
  return new ProviderClient(named, await make(named, { log, clock }), { log, clock })
}
