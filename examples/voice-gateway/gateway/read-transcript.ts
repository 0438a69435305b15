/** Something that was said. */
export interface Utterance {
  readonly text: string
  /** The sender's own; one that was heard already is not heard again. */
  readonly id?: string
  /** It was said into the answer that was running, which is broken off. */
  readonly bargeIn: boolean
}

const LONGEST_PAYLOAD = 16 * 1024
/** Nobody says more in one breath. */
const LONGEST_TEXT = 2_000
const LONGEST_ID = 100

/** Reads a message on the topic of transcripts, plain text or `{"text", "id", "barge_in"}`; gives a sentence where it is none. */
export function readTranscript(payload: Uint8Array): Utterance | string {
  if (payload.byteLength > LONGEST_PAYLOAD)
    return `a transcript of ${payload.byteLength} bytes; the most is ${LONGEST_PAYLOAD}`
  let whole: string
  try {
    whole = new TextDecoder('utf-8', { fatal: true }).decode(payload)
  } catch {
    return 'a transcript that is no UTF-8 text'
  }
  if (!whole.trimStart().startsWith('{')) return utterance(whole)
  let read: unknown
  try {
    read = JSON.parse(whole)
  } catch {
    return 'a transcript that begins like JSON and is none'
  }
  const { text, id, barge_in } = read as Record<string, unknown>
  if (typeof text !== 'string') return 'a transcript in JSON without "text"'
  if (id !== undefined && (typeof id !== 'string' || id.length > LONGEST_ID))
    return 'a transcript with an "id" that is no short text'
  return utterance(text, id, barge_in === true)
}

/** The same for text that did not come as bytes. */
export function utterance(said: string, id?: string, bargeIn = false): Utterance | string {
  // Recognisers print no control characters; whoever sends them wants something else.
  const text = said
    .replaceAll(/\p{Cc}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (text === '') return 'an empty transcript'
  if (text.length > LONGEST_TEXT) return `a transcript of ${text.length} characters; the most is ${LONGEST_TEXT}`
  return { text, bargeIn, ...(id !== undefined && { id }) }
}
