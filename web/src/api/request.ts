import { ApiProblem } from './api-problem.ts'
import { serverAnswered, serverIsAway } from './connection.ts'

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  readonly accept?: string
  readonly signal?: AbortSignal
}

/** Sends a request. Rejects with an `ApiProblem` if it fails. */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', body, accept = 'application/json', signal } = options
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: { accept, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    serverIsAway()
    throw new ApiProblem(0, 'The server does not answer')
  }
  serverAnswered()
  if (response.ok) return response
  throw new ApiProblem(response.status, await sentenceOf(response))
}

/** The same for JSON responses. */
export async function requestJson<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
  return (await request(path, options)).json() as Promise<Answer>
}

async function sentenceOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // A proxy answered.
  }
  return `The server answered with status ${response.status}`
}
