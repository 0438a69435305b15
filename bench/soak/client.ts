/** Asks one server with one key, and is sure of each answer. */
export class Client {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  /** The whole answer as text. */
  async ask(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { body, headers = {}, expects = 200 }: { body?: unknown; headers?: Record<string, string>; expects?: number } = {},
  ): Promise<string> {
    const response = await this.#fetch(method, path, body, headers)
    const text = await response.text()
    if (response.status !== expects) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return text
  }

  /** Hangs up as soon as the answer has begun. */
  async hangUp(path: string, body: unknown): Promise<void> {
    const leaving = new AbortController()
    const response = await this.#fetch('POST', path, body, EVENTS, leaving.signal)
    leaving.abort()
    await response.text().catch(() => '')
  }

  #fetch(method: string, path: string, body: unknown, headers: Record<string, string>, signal?: AbortSignal) {
    return fetch(this.#url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
  }
}

/** Asks for Server-Sent Events. */
export const EVENTS = { accept: 'text/event-stream' }
