import { systemClock } from '../core/clock.ts'
import { silentLog } from '../core/log.ts'
import { llamaWire } from './llama/llama-wire.ts'
import { miniWire } from './mini/mini-wire.ts'
import { ModelError } from './model-error.ts'
import type { ProviderSettings, ProviderSurroundings, WireMaker } from './provider.ts'
import { ProviderClient } from './provider-client.ts'
import { anthropicWire } from './providers/anthropic.ts'
import { geminiWire } from './providers/gemini.ts'
import { ollamaWire } from './providers/ollama.ts'
import { openaiWire } from './providers/openai.ts'

/** How each type of provider is spoken to. */
const wires: Readonly<Record<string, WireMaker>> = {
  openai: openaiWire,
  anthropic: anthropicWire,
  gemini: geminiWire,
  ollama: ollamaWire,
  llama: llamaWire,
  mini: miniWire,
}

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
