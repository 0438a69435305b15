/** A request as it goes over the wire, and a text that stands in every right answer. */
export interface HttpRequest {
  readonly text: string
  readonly expects: string
}

/** A POST of JSON over a connection that stays open. */
export function postJson(path: string, body: unknown, headers: Readonly<Record<string, string>>): string {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}
