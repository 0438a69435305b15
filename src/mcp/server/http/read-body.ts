import type { IncomingMessage } from 'node:http'

/** The body as text; undefined where it is longer than `maxBytes`. Rejects where the client hangs up. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length']) > maxBytes) return resolve(undefined)
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) resolve(undefined)
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString()))
    request.on('error', reject)
    request.on('close', () => reject(new Error('The request was cut off')))
  })
}
