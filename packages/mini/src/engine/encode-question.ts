import type { EncodedText, TextEncoder } from './encoded-text.ts'
import type { ParameterText, Question } from './tool-reader.ts'

/** One run of the model: as many parameters of a tool as have room. */
export interface Pass {
  readonly ids: readonly number[]
  /** The number of tokens up to the first separator, which are of type 0. */
  readonly first: number
  readonly parameters: readonly PassParameter[]
}

/** Where a parameter and its options stand in a pass. */
export interface PassParameter {
  readonly index: number
  readonly at: number
  readonly options: readonly number[]
}

const CLS = 101
const SEP = 102
const REQUIRED = 2
const OPTIONAL = 3
const OPTION = 4
const MAX_SAID = 160
const MAX_TOKENS = 320
/** The positions that the model knows. */
const MAX_POSITIONS = 512
const MAX_EMBEDDED = 90

/** The passes for a question, and the tokens of the message that they share. */
export function encodeQuestion(encoder: TextEncoder, { said, tool }: Question): { said: EncodedText; passes: Pass[] } {
  const text = encoder.encode(said, MAX_SAID)
  const head = encoder.encode(tool.head, MAX_TOKENS).ids
  const room = MAX_TOKENS - text.ids.length - 3
  const start = [CLS, ...text.ids, SEP]
  const passes: Pass[] = []
  let ids = [...head]
  let parameters: PassParameter[] = []
  const close = (): void => {
    // One parameter may be longer than the room. What the model can't read is cut.
    const tokens = [...start, ...ids.slice(0, MAX_POSITIONS - start.length - 1), SEP]
    const whole = parameters.filter(({ at, options }) => Math.max(at, ...options) < tokens.length - 1)
    passes.push({ ids: tokens, first: start.length, parameters: whole })
    ids = [...head]
    parameters = []
  }
  for (const [index, parameter] of tool.parameters.entries()) {
    const { tokens, options } = encodeParameter(encoder, parameter)
    if (parameters.length > 0 && ids.length + tokens.length > room) close()
    const at = start.length + ids.length
    parameters.push({ index, at, options: options.map((place) => at + place) })
    ids.push(...tokens)
  }
  if (tool.parameters.length === 0) ids = ids.slice(0, room)
  close()
  return { said: text, passes }
}

function encodeParameter(encoder: TextEncoder, { text, required, options }: ParameterText) {
  const tokens = [required ? REQUIRED : OPTIONAL, ...encoder.encode(text, MAX_TOKENS).ids]
  const places: number[] = []
  for (const option of options) {
    places.push(tokens.length)
    tokens.push(OPTION, ...encoder.encode(option, MAX_TOKENS).ids)
  }
  return { tokens, options: places }
}

/** A text alone, whose meaning is wanted. */
export const encodeAlone = (encoder: TextEncoder, text: string): number[] => [
  CLS,
  ...encoder.encode(text, MAX_EMBEDDED - 2).ids,
  SEP,
]
