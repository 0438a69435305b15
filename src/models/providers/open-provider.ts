import {
  ABOVE_ZERO,
  boolean,
  type Checks,
  checkAll,
  isRecord,
  must,
  nonEmpty,
  number,
  string,
} from '../../core/check-options.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { llamaWire } from '../llama/llama-wire.ts'
import { miniWire } from '../mini-wire.ts'
import type { Message } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { ProviderContext, ProviderSettings, WireMaker } from '../provider.ts'
import { anthropicWire, geminiWire, openaiWire } from './hosted.ts'
import { ollamaWire } from './ollama.ts'
import { type ChatOptions, type ChatReply, ProviderClient } from './provider-client.ts'

const wires: Readonly<Record<string, WireMaker>> = {
  openai: openaiWire,
  anthropic: anthropicWire,
  gemini: geminiWire,
  ollama: ollamaWire,
  llama: llamaWire,
  mini: miniWire,
}

type ClientSettings = Omit<ProviderSettings, 'name' | 'type'>

const isHeaders = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((one) => typeof one === 'string')

const SETTINGS: Checks<ClientSettings> = {
  ...{ base_url: nonEmpty, api_key: string, timeout_ms: number(ABOVE_ZERO), grammar: boolean, any_model: boolean },
  headers: must('an object whose values are strings', isHeaders),
  api: must('"responses" or "chat"', (value) => value === 'responses' || value === 'chat'),
}

/** A provider by its type. The key is by default in the usual environment variable. */
abstract class NamedClient {
  readonly #open: () => Promise<ProviderClient>
  #client: Promise<ProviderClient> | undefined

  constructor(type: string, settings: ClientSettings, variable?: string) {
    checkAll(new.target.name, settings, SETTINGS)
    const key = settings.api_key ?? (variable === undefined ? undefined : process.env[variable])
    this.#open = () => openProvider({ ...settings, type, ...(key !== undefined && { api_key: key }) })
  }

  /** Sends one request and returns the whole response. Rejects with a `ModelError`. */
  async generateChat(messages: readonly Message[], model: string, options: ChatOptions = {}): Promise<ChatReply> {
    this.#client ??= this.#open()
    return (await this.#client).generateChat(messages, model, options)
  }
}

export class OpenAIClient extends NamedClient {
  constructor(settings: ClientSettings = {}) {
    super('openai', settings, 'OPENAI_API_KEY')
  }
}

export class AnthropicClient extends NamedClient {
  constructor(settings: ClientSettings = {}) {
    super('anthropic', settings, 'ANTHROPIC_API_KEY')
  }
}

export class GeminiClient extends NamedClient {
  constructor(settings: ClientSettings = {}) {
    super('gemini', settings, 'GEMINI_API_KEY')
  }
}

export class OllamaClient extends NamedClient {
  constructor(settings: ClientSettings = {}) {
    super('ollama', settings)
  }
}

/** Opens a provider; rejects with a `ModelError` that names a missing key or package. */
export async function openProvider(
  settings: Omit<ProviderSettings, 'name'> & { readonly name?: string },
  { log = silentLog, clock = systemClock, ...rest }: Partial<ProviderContext> = {},
): Promise<ProviderClient> {
  const around = { log, clock, ...rest }
  const named = { ...settings, name: settings.name ?? settings.type }
  const make = Object.hasOwn(wires, settings.type) ? wires[settings.type] : undefined
  if (make === undefined) {
    throw new ModelError(`Unknown provider type '${settings.type}' (known: ${Object.keys(wires).join(', ')})`)
  }
  return new ProviderClient(named, await make(named, around), around)
}
