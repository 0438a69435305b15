import { IncomingMessage } from 'node:http'

type Then = (text: string | undefined) => void

/**
 * A request whose body can be had as one text. What arrives is kept as it arrives, and the events of a stream, which
 * take longer than all else about a small body, are left out; who does not ask for the text has the stream as ever.
 */
export class TextRequest extends IncomingMessage {
  #then: Then | undefined = undefined
  #limit = 0
  #bytes = 0
  #body: Buffer | undefined = undefined
  #rest: Buffer[] | undefined = undefined

  /**
   * Calls back with undefined where the body is longer than the limit: the rest of it is then taken and dropped, so
   * that the client gets to read its answer. Where the client hangs up, nothing is called back.
   */
  readText(limit: number, then: Then): void {
    if (Number(this.headers['content-length']) > limit) {
      this.resume()
      then(undefined)
      return
    }
    this.#limit = limit
    this.#then = then
    // What has come already; and from here on it is known that somebody reads.
    const early: Buffer | null = this.read()
    if (early !== null) this.#take(early, then)
    if (this.complete) this.#end(then)
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const then = this.#then
    if (then === undefined) return super.push(chunk, encoding)
    if (chunk === null) this.#end(then)
    else this.#take(chunk, then)
    return true
  }

  #take(chunk: Buffer, then: Then): void {
    const fitted = this.#bytes <= this.#limit
    this.#bytes += chunk.length
    if (this.#bytes > this.#limit) {
      this.#body = undefined
      this.#rest = undefined
      if (fitted) then(undefined)
    } else if (this.#body === undefined) this.#body = chunk
    else if (this.#rest === undefined) this.#rest = [this.#body, chunk]
    else this.#rest.push(chunk)
  }

  #end(then: Then): void {
    if (this.#bytes > this.#limit) return
    if (this.#rest !== undefined) then(Buffer.concat(this.#rest).toString())
    else then(this.#body === undefined ? '' : this.#body.toString())
  }
}
