import type { AudioEndpoint } from './settings.ts'

const MOST_BYTES = 20 * 1024 * 1024

/** Asks an OpenAI-compatible endpoint for audio or text, under a deadline; gives the bytes of its answer. */
export async function audioRequest(
  { url, key }: AudioEndpoint,
  path: string,
  body: FormData | Record<string, unknown>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  const deadline = AbortSignal.timeout(timeoutMs)
  const json = !(body instanceof FormData)
  try {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(json && { 'Content-Type': 'application/json' }) },
      body: json ? JSON.stringify(body) : body,
      signal: AbortSignal.any([signal, deadline]),
      redirect: 'error',
    })
    if (!response.ok) throw new Error(`the audio endpoint answered ${path} with status ${response.status}`)
    return await bounded(response)
  } catch (error) {
    if (deadline.aborted) throw new Error(`the audio endpoint took longer than ${timeoutMs / 1000} s`)
    if (error instanceof TypeError) throw new Error('the audio endpoint cannot be reached')
    throw error
  }
}

async function bounded(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.byteLength
    if (size > MOST_BYTES) throw new Error(`the audio endpoint sent more than ${MOST_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
