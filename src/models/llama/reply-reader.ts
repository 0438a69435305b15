import { randomUUID } from 'node:crypto'
import type { ModelEvent } from '../model.ts'
import { ANSWER_HEAD, CALL_HEAD } from './tool-grammar.ts'

/** Reads a reply that the grammar holds to its form, piece by piece, as the events that it means. */
export class ReplyReader {
  readonly #id = `call_${randomUUID()}`
  /** What has come and not been given out. */
  #rest = ''
  #name: string | undefined
  #arguments = ''
  #answering = false

  /** Takes a piece; gives what can be told by now. */
  read(piece: string): ModelEvent[] {
    this.#rest += piece
    const begun = this.#readHead()
    if (this.#answering) return this.#readAnswer()
    return this.#name === undefined ? [] : [...begun, ...this.#readArguments()]
  }

  /** The end of the reply: gives the call, where it came whole. */
  end(): ModelEvent[] {
    if (this.#name === undefined || this.#rest !== '}' || !isJson(this.#arguments)) return []
    const call = { name: this.#name, arguments: this.#arguments }
    return [{ type: 'tool-call-end', call: { id: this.#id, type: 'function', function: call } }]
  }

  #readHead(): ModelEvent[] {
    if (this.#answering || this.#name !== undefined) return []
    const head = CALL_HEAD.exec(this.#rest)
    if (head !== null) {
      const name: string = JSON.parse(head[1] as string)
      this.#name = name
      this.#rest = this.#rest.slice(head[0].length)
      return [{ type: 'tool-call-start', id: this.#id, name }]
    }
    this.#answering = this.#rest.startsWith(ANSWER_HEAD)
    if (this.#answering) this.#rest = this.#rest.slice(ANSWER_HEAD.length)
    return []
  }

  /** A bracket that came last may be the one after the arguments. */
  #readArguments(): ModelEvent[] {
    const text = this.#rest.endsWith('}') ? this.#rest.slice(0, -1) : this.#rest
    if (text === '') return []
    this.#rest = this.#rest.slice(text.length)
    this.#arguments += text
    return [{ type: 'tool-call-delta', id: this.#id, text }]
  }

  /** Whole characters of a JSON string, up to its quote. */
  #readAnswer(): ModelEvent[] {
    const whole = /^(?:[^"\\]|\\.)*/s.exec(this.#rest)?.[0] ?? ''
    if (whole === '') return []
    this.#rest = this.#rest.slice(whole.length)
    return [{ type: 'text-delta', text: JSON.parse(`"${whole}"`) }]
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
