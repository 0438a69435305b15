import type { IncomingMessage } from 'node:http'

/**
 * Reads the body of a request as text; undefined where it is longer than the limit: the rest of it is then taken and
 * dropped, so that the client gets to read its answer. Where the client hangs up, nothing is called back.
 */
export function readText(request: IncomingMessage, limit: number, then: (text: string | undefined) => void): void {
  if (Number(request.headers['content-length']) > limit) {
    request.resume()
    then(undefined)
    return
  }
  let body: Buffer | undefined
  let rest: Buffer[] | undefined
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    const fitted = bytes <= limit
    bytes += chunk.length
    if (bytes > limit) {
      if (fitted) then(undefined)
      rest = undefined
    } else if (body === undefined) body = chunk
    else if (rest === undefined) rest = [body, chunk]
    else rest.push(chunk)
  })
  request.on('end', () => {
    if (bytes > limit) return
    if (rest !== undefined) then(Buffer.concat(rest).toString())
    else then(body === undefined ? '' : body.toString())
  })
}
