import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Packages } from './find-packages.ts'
import type { ParameterReading, ParameterText, Question, SpanScores } from './tool-reader.ts'

/** Runs in a child process: loads the model once, reads tools and embeds texts. */

interface ReadToolsParams {
  readonly packages: Packages
  readonly weights: string
  readonly passes?: readonly PassQuestion[]
  readonly texts?: readonly string[]
  /** How many tokens may be read. The first pass or text is read in any case. */
  readonly most: number
}

/** One pass of a question; the first is 0. */
export interface PassQuestion extends Question {
  readonly pass: number
}

/** The results of the first passes or texts, as many as were read. */
export interface ReadToolsResult {
  readonly readings: PassReading[]
  readonly embeddings: number[][]
  readonly tokens: number
}

/** What the model reads in one pass. */
export interface PassReading extends Pick<SpanScores, 'from' | 'to'> {
  readonly relevance: number
  /** How many passes the question has. */
  readonly passes: number
  readonly parameters: readonly (Omit<ParameterReading, 'span'> & {
    readonly index: number
    readonly span: Omit<SpanScores, 'from' | 'to'>
  })[]
}

/** The parts of `onnxruntime-web` and `onnxruntime-node` that are used. */
interface Runtime {
  readonly env: { readonly wasm: { numThreads?: number; wasmPaths?: string }; logLevel?: string }
  readonly InferenceSession: { create(model: Uint8Array, options: { intraOpNumThreads: number }): Promise<Session> }
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dimensions: readonly number[]) => object
}

interface Session {
  run(inputs: Readonly<Record<string, object>>): Promise<Readonly<Record<string, Output>>>
}

interface Output {
  readonly data: Float32Array
  dispose?(): void
}

type Tokenizers = { readonly Tokenizer: new (tokenizer: object, config: object) => WordEncoder }

interface Model {
  readonly encoder: TextEncoder
  readonly run: <Result>(
    ids: readonly number[],
    first: number,
    read: (outputs: Readonly<Record<string, Output>>) => Result,
  ) => Promise<Result>
}

let loading: Promise<Model> | undefined

/** Answers one after the other: in a batch the rounding of one would depend on the others. */
export async function readTools({
  packages,
  weights,
  passes = [],
  texts = [],
  most,
}: ReadToolsParams): Promise<ReadToolsResult> {
  loading ??= load(packages, weights).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  const model = await loading
  let tokens = 0
  const fits = (length: number): boolean => {
    if (tokens > 0 && tokens + length > most) return false
    tokens += length
    return true
  }
  const readings: PassReading[] = []
  for (const { pass: number, ...question } of passes) {
    const { said, passes: all } = encodeQuestion(model.encoder, question)
    const pass = all[number] as Pass
    if (!fits(pass.ids.length)) break
    const { from, to } = said
    const found = await model.run(pass.ids, pass.first, (outputs) => readPass(outputs, pass, said.ids.length))
    readings.push({ ...found, passes: all.length, from, to })
  }
  const embeddings: number[][] = []
  for (const text of texts) {
    const ids = encodeAlone(model.encoder, text)
    if (!fits(ids.length)) break
    embeddings.push(await model.run(ids, ids.length, ({ embedding }) => [...(embedding as Output).data]))
  }
  return { readings, embeddings, tokens }
}

function readPass(outputs: Readonly<Record<string, Output>>, { ids, parameters }: Pass, said: number) {
  const data = (name: string): Float32Array => (outputs[name] as Output).data
  const row = (name: string, at: number): number[] => [
    ...data(name).subarray(at * ids.length + 1, at * ids.length + 1 + said),
  ]
  const at = (name: string, place: number): number => data(name)[place] as number
  return {
    relevance: at('relevance', 0),
    parameters: parameters.map(({ index, at: place, options }) => ({
      index,
      span: {
        start: row('start', place),
        end: row('end', place),
        inside: row('inside', place),
        absent: at('start', place * ids.length) + at('end', place * ids.length),
      },
      mentioned: at('mentioned', place),
      options: options.map((option) => at('option', option)),
      none: at('option', place),
    })),
  }
}

async function load({ runtimes, tokenizers }: Packages, weights: string): Promise<Model> {
  const json = async (name: string): Promise<object> => JSON.parse(await readFile(join(weights, name), 'utf8'))
  const ort = await firstThatLoads(runtimes)
  const { Tokenizer } = await imported<Tokenizers>(tokenizers)
  // One thread: WebAssembly threads need workers, which the process may not start.
  ort.env.wasm.numThreads = 1
  ort.env.logLevel = 'error'
  const file = await readFile(join(weights, 'model.int8.onnx'))
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: 1 })
  const words = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'))
  return {
    encoder: new TextEncoder(words),
    run: async (ids, first, read) => {
      const tensor = (value: (id: number, at: number) => number): object =>
        new ort.Tensor(
          'int64',
          BigInt64Array.from(ids, (id, at) => BigInt(value(id, at))),
          [1, ids.length],
        )
      const outputs = await session.run({
        input_ids: tensor((id) => id),
        token_type_ids: tensor((_, at) => (at >= first ? 1 : 0)),
        attention_mask: tensor(() => 1),
      })
      const result = read(outputs)
      for (const output of Object.values(outputs)) output.dispose?.()
      return result
    },
  }
}

/** A runtime for another machine, or one that is only partly installed, doesn't load. */
async function firstThatLoads(runtimes: readonly string[]): Promise<Runtime> {
  let reason: unknown
  for (const url of runtimes) {
    try {
      return await imported<Runtime>(url)
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

/** The exports of a CommonJS package may be its default export. */
async function imported<Exports>(url: string): Promise<Exports> {
  const found = await import(url)
  return found.default ?? found
}

/** One run of the model: as many parameters of a tool as have room. */
export interface Pass {
  readonly ids: readonly number[]
  /** The number of tokens up to the first separator, which are of type 0. */
  readonly first: number
  readonly parameters: readonly PassParameter[]
}

/** Where a parameter and its options stand in a pass. */
interface PassParameter {
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
const encodeAlone = (encoder: TextEncoder, text: string): number[] => [
  CLS,
  ...encoder.encode(text, MAX_EMBEDDED - 2).ids,
  SEP,
]

/** Tokens of a text, and the characters that each stands for. */
interface EncodedText {
  readonly ids: readonly number[]
  readonly from: readonly number[]
  readonly to: readonly number[]
}

/** What we use of the tokenizer: the tokens of one word. */
interface WordEncoder {
  encode(text: string, options: { add_special_tokens: false }): { ids: number[]; tokens: string[] }
}

interface Word {
  /** Normalised, one entry a character, with where it came from. */
  readonly characters: string[]
  readonly from: number[]
  readonly to: number[]
}

const SPACE = /\s/u
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\uFFFD]/u
const MARKS = /\p{Mn}/gu
/** Punctuation, symbols of ASCII, and the scripts that are written without spaces: each character is a word. */
const ALONE = /[\p{P}$+<=>^`|~\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF]|[\u{20000}-\u{2CEAF}]/u
const UNKNOWN = '[UNK]'
/** Words repeat, above all those of tools. */
const MAX_REMEMBERED = 20_000

/** Encodes texts as the tokenizer does, which by itself does not say where a token stands. */
export class TextEncoder {
  readonly #words: WordEncoder
  readonly #known = new Map<string, { readonly ids: number[]; readonly tokens: string[] }>()

  constructor(words: WordEncoder) {
    this.#words = words
  }

  encode(text: string, mostTokens: number): EncodedText {
    const ids: number[] = []
    const from: number[] = []
    const to: number[] = []
    for (const word of wordsOf(text)) {
      const { ids: pieces, tokens } = this.#encodeWord(word.characters.join(''))
      let at = 0
      for (const [index, id] of pieces.entries()) {
        const token = tokens[index] as string
        const length = token === UNKNOWN ? word.characters.length - at : [...token.replace(/^##/, '')].length
        const last = Math.min(at + length, word.characters.length) - 1
        ids.push(id)
        from.push(word.from[Math.min(at, last)] as number)
        to.push(word.to[last] as number)
        at = last + 1
      }
      if (ids.length >= mostTokens) break
    }
    return { ids: ids.slice(0, mostTokens), from: from.slice(0, mostTokens), to: to.slice(0, mostTokens) }
  }

  #encodeWord(word: string): { readonly ids: number[]; readonly tokens: string[] } {
    const known = this.#known.get(word)
    if (known !== undefined) return known
    const { ids, tokens } = this.#words.encode(word, { add_special_tokens: false })
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear()
    this.#known.set(word, { ids, tokens })
    return { ids, tokens }
  }
}

function* wordsOf(text: string): Generator<Word> {
  let word: Word = { characters: [], from: [], to: [] }
  let at = 0
  for (const character of text) {
    const from = at
    at += character.length
    const alone = ALONE.test(character)
    if ((alone || SPACE.test(character)) && word.characters.length > 0) {
      yield word
      word = { characters: [], from: [], to: [] }
    }
    if (alone) yield { characters: [character], from: [from], to: [at] }
    else if (!SPACE.test(character) && !UNSEEN.test(character)) {
      for (const plain of character.normalize('NFD').replaceAll(MARKS, '').toLowerCase()) {
        word.characters.push(plain)
        word.from.push(from)
        word.to.push(at)
      }
    }
  }
  if (word.characters.length > 0) yield word
}
