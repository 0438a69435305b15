import { refusalError, type Telling } from '../ai-sdk/to-model-error.ts'
import { ModelError } from '../model-error.ts'

/** Ollama passes on what its own processes say to each other, ports included. */
const ADDRESS =
  /\b[a-z]+:\/\/\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[(?=[\da-f]*:)[\da-f:]+\](?::\d+)?|\blocalhost\b(?::\d+)?/gi

/** What is needed to tell of a failure; `model` is undefined where the question was which models there are. */
export interface OllamaTelling extends Telling {
  readonly provider: string
  readonly model: string | undefined
}

/** A connection that could not be made, or broke. */
export function connectionFailure({ provider }: OllamaTelling, error: unknown): ModelError {
  const code = codeOf(error)
  const at = `providers.${provider}.base_url`
  const message =
    code === 'ECONNREFUSED'
      ? `Ollama is not running where it was looked for. Start it (ollama serve), or set ${at}.`
      : `The connection to Ollama failed${code === undefined ? '' : ` (${code})`}. Check that it is running, and ${at}.`
  return new ModelError(message, { retryable: true })
}

/** An answer other than 200. */
export async function statusFailure(telling: OllamaTelling, response: Response): Promise<ModelError> {
  const { status } = response
  const reason = await errorField(response)
  if (status !== 404) {
    const headers = Object.fromEntries(response.headers)
    return refusalError({ status, headers, said: withoutAddress(reason ?? ''), body: undefined }, telling)
  }
  const { provider, model } = telling
  return new ModelError(
    model !== undefined && reason !== undefined
      ? `Ollama has no model '${model}'. Fetch it: ollama pull ${model}`
      : `What answers is not Ollama (404). Check providers.${provider}.base_url: it is the part before /api.`,
    { status },
  )
}

/** An error in the middle of the answer. */
export function brokenOffFailure(telling: OllamaTelling, error: unknown): ModelError {
  const said = withoutAddress(typeof error === 'string' ? error : JSON.stringify(error))
  const { message } = refusalError({ status: 500, headers: {}, said, body: undefined }, telling)
  return new ModelError(`The answer broke off. ${message}`, { retryable: true })
}

const withoutAddress = (text: string): string => text.replace(ADDRESS, '[address]')

/** Ollama answers errors as `{"error": "…"}`; what stands in between answers anything. */
async function errorField(response: Response): Promise<string | undefined> {
  try {
    const body: unknown = await response.json()
    const error: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}
