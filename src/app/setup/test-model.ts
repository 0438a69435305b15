import type { Config } from '../../config/config.ts'
import { COST_NOTHING, USUAL_PROVIDERS } from '../../config/model-settings.ts'
import type { Clock } from '../../core/clock.ts'
import type { Environment } from '../../core/environment.ts'
import { redactText } from '../../core/records/redact.ts'
import { ModelError } from '../../models/model-error.ts'
import type { ProviderConfig, ProviderSettings } from '../../models/provider.ts'
import { openProvider } from '../../models/providers/open-provider.ts'
import type { Actor, AuditEvents } from '../callers/audit-events.ts'
import { providerSettings } from '../tools/providers.ts'
import type { SetupChange } from './build-change.ts'
import { SetupError } from './setup-error.ts'
import { checkAddresses, withVariables } from './test-servers.ts'

const TIMEOUT_MS = 15_000
/** Enough for a model that thinks before it answers. */
const MAX_TOKENS = 64
const MAX_ANSWER = 200
const MAX_ERROR = 500
const QUESTION = 'This is a test of the connection. Answer with the word OK.'

/** A provider with exactly one model. */
export type TestedProvider = Extract<SetupChange, { readonly kind: 'provider' }>

export interface TestedModel {
  readonly ok: boolean
  readonly ms: number
  /** What the model answered, in one line. Empty if it used up its tokens before it said anything. */
  readonly answer?: string
  readonly error?: string
}

interface TestParts {
  readonly config: Config
  /** With the stored and the new secrets. */
  readonly env: Environment
  readonly clock: Clock
  /** Whether the provider may be at a private address. */
  readonly mayBePrivate: boolean
  readonly signal: AbortSignal
}

/** Sends one short request to a model. `added` is the part of the configuration that the change would add. */
export async function testModel(change: TestedProvider, added: Config, parts: TestParts): Promise<TestedModel> {
  const { clock, signal } = parts
  const model = change.models?.[0]?.id ?? ''
  const late = new AbortController()
  const cancel = clock.after(TIMEOUT_MS, () => late.abort())
  const start = clock.now()
  const ended = () => Math.round(clock.now() - start)
  let settings: ProviderSettings | undefined
  try {
    const entry = own(added.providers, change.name)
    settings = providerSettings(change.name, withVariables(entry ?? known(change.name, parts.config)), parts.env)
    if (COST_NOTHING.has(settings.type)) {
      const fix = 'add the model, then ask it a question in Testing'
      throw new SetupError(422, `Models of the type ${settings.type} run on this server and have no key: ${fix}`)
    }
    // An address that is configured already is the operator's.
    const isForeign = entry?.base_url !== undefined && !parts.mayBePrivate
    if (isForeign) await checkAddresses([settings.base_url ?? ''], parts.config)
    const provider = await openProvider(settings, { clock, attempts: 1, ...(isForeign && (await guard(parts.config))) })
    const { content, finish_reason } = await provider.generateChat([{ role: 'user', content: QUESTION }], model, {
      max_tokens: MAX_TOKENS,
      signal: AbortSignal.any([signal, late.signal]),
    })
    if (finish_reason === 'error') throw new ModelError('The provider ended the answer with an error. Try again.')
    return { ok: true, ms: ended(), answer: shown(content ?? '', settings, MAX_ANSWER) }
  } catch (error) {
    const ms = ended()
    if (late.signal.aborted)
      return { ok: false, ms, error: `The provider hasn't answered within ${TIMEOUT_MS / 1_000} s.` }
    if (signal.aborted) return { ok: false, ms, error: 'The test was cancelled.' }
    if (!(error instanceof ModelError)) throw error
    return { ok: false, ms, error: shown(failureOf(error, model, change.name, settings), settings, MAX_ERROR) }
  } finally {
    cancel()
  }
}

/** What the server has for a provider that the change doesn't configure. */
const known = (name: string, { providers }: Config): ProviderConfig =>
  own(providers, name) ?? own(USUAL_PROVIDERS, name) ?? {}

const own = (providers: Config['providers'] = {}, name: string): ProviderConfig | undefined =>
  Object.hasOwn(providers, name) ? providers[name] : undefined

/** Checks every connection: the name could resolve to another address by then, or the provider could redirect. */
async function guard({ http }: Config) {
  const { guardedFetch } = await import('../../kinds/http/network/guarded-agent.ts')
  return { fetch: guardedFetch(undefined, http?.allow_private) }
}

function failureOf(error: ModelError, model: string, provider: string, settings: ProviderSettings | undefined): string {
  const { type, api_key = '', base_url } = settings ?? {}
  if (error.status === 401) {
    return api_key.trim() === ''
      ? 'The provider requires a key. Enter one.'
      : 'The provider refuses the key. Check that it is complete and still valid.'
  }
  // Ollama says itself how to get the model.
  if (error.status === 404 && type !== 'ollama') {
    const [place, more] = base_url === undefined ? ['', ''] : [' at this address', ' and the address']
    return `The provider has no model "${model}"${place}. Check the id${more}.`
  }
  const prefix = `${provider}:${model}: `
  return error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
}

/** One line without the key, whatever the provider sends back. */
function shown(text: string, settings: ProviderSettings | undefined, maxLength: number): string {
  const { api_key = '', headers = {} } = settings ?? {}
  let line = text.replace(/\s+/g, ' ').trim()
  for (const secret of [api_key.trim(), ...Object.values(headers)]) {
    if (secret !== '') line = line.replaceAll(secret, '[redacted]')
  }
  return redactText(line, maxLength)
}

/** Every test is an audit row, because it sends a key somewhere. */
export async function recordedTest(
  { name, base_url, models = [] }: TestedProvider,
  { by, events }: { readonly by: Actor; readonly events: AuditEvents },
  test: () => Promise<TestedModel>,
): Promise<TestedModel> {
  // Without credentials and paths. An address with a variable may be a secret.
  const host = base_url === undefined ? undefined : URL.parse(base_url)?.host
  const record = (failed: boolean, detail: object) =>
    events.record('model.tested', {
      ...{ by, subject: `${name}:${models[0]?.id}`, failed },
      detail: { ...(host !== undefined && { host }), ...detail },
    })
  try {
    const tested = await test()
    await record(!tested.ok, { ok: tested.ok })
    return tested
  } catch (error) {
    await record(true, { ok: false, refused: error instanceof SetupError ? error.status : 500 })
    throw error
  }
}
