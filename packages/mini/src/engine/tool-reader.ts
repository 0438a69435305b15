import { takeTurns } from '../base/take-turns.ts'

/** A tool as the model reads it. */
export interface ToolText {
  /** The name in words, and the description. */
  readonly head: string
  readonly parameters: readonly ParameterText[]
}

export interface ParameterText {
  readonly text: string
  readonly required: boolean
  /** Empty if the value is a piece of the message. */
  readonly options: readonly string[]
}

/** A message that is read together with a tool. */
export interface Question {
  readonly said: string
  readonly tool: ToolText
}

/** What the model reads in a message about a tool. */
export interface Reading {
  /** From 0 to 1: how likely the tool is meant. */
  readonly relevance: number
  /** In the order of the tool's parameters. */
  readonly parameters: readonly ParameterReading[]
}

export interface ParameterReading {
  readonly span: SpanScores
  /** Above 0 if the message mentions the parameter. Not trained for parameters with options. */
  readonly mentioned: number
  /** One score per option; the model reads at most 16. */
  readonly options: readonly number[]
  /** The score of "no option was mentioned". */
  readonly none: number
}

/** For each token of the message: its place, and how likely a value starts or ends there. */
export interface SpanScores {
  readonly from: readonly number[]
  readonly to: readonly number[]
  readonly start: readonly number[]
  readonly end: readonly number[]
  /** Above 0 if the token is part of a value. */
  readonly inside: readonly number[]
  /** The score of "not mentioned", start and end together. */
  readonly absent: number
}

/** Reads for one question of a caller. It may read less than it was given: a question has a limited number of tokens. */
export interface ToolReader {
  /** The first questions count most. Parts that weren't read have scores that never win. */
  read(questions: readonly Question[], signal?: AbortSignal): Promise<Reading[]>
  /** The meaning of the first texts as vectors: their dot product tells how close two texts are. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<number[][]>
  /** The vectors of texts that come again with the next question, such as those of tools; the likeliest come first. */
  embedTools(texts: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, ArrayLike<number>>>
  /** How many tokens may still be read. */
  left?(): number
}

/** The model reads 160 tokens of a message. A longer message is read piece by piece. */
const MAX_LENGTH = 560
const MAX_WINDOWS = 3
/** Keeps the tokens of two windows so far apart that no value spans both. */
const GAP = 32
/** The score of a part that wasn't read. */
export const NEVER = -1_000

interface Window {
  readonly from: number
  readonly text: string
}

/** A reader for long messages: it reads windows of them, and places values in the whole message. */
export function inWindows(reader: ToolReader): ToolReader {
  return {
    embed: (texts, signal) => reader.embed(texts.map(gistOf), signal),
    embedTools: (texts, signal) => reader.embedTools(texts, signal),
    left: () => reader.left?.() ?? Number.POSITIVE_INFINITY,
    async read(questions, signal) {
      const windows = questions.map(({ said }) => windowsOf(said))
      // The first windows come first: if not all can be read, every tool is read with the start of the message.
      const all = Array.from({ length: MAX_WINDOWS }, (_, index) =>
        questions.flatMap(({ tool }, at) => {
          const text = windows[at]?.[index]?.text
          return text === undefined ? [] : [{ at, question: { tool, said: text } }]
        }),
      ).flat()
      const readings = await reader.read(
        all.map(({ question }) => question),
        signal,
      )
      const whole: Reading[] = []
      for (const [at, own] of windows.entries()) {
        await takeTurns()
        const mine = readings.filter((_, index) => all[index]?.at === at)
        whole.push(own.length === 1 ? (mine[0] as Reading) : joined(own, mine))
      }
      return whole
    },
  }
}

/** The start and the end of a long message: they say what it asks for. */
const gistOf = (said: string): string =>
  said.length <= MAX_LENGTH ? said : `${said.slice(0, MAX_LENGTH / 4)} ${said.slice(-MAX_LENGTH / 4)}`

/** Pieces that start and end with sentences, and overlap a bit. */
export function windowsOf(said: string): Window[] {
  if (said.length <= MAX_LENGTH) return [{ from: 0, text: said }]
  const ends = [...said.matchAll(/[.!?;,\n]\s+/g)].map(({ index, 0: end }) => index + end.length)
  const windows: Window[] = []
  for (let from = 0; from < said.length && windows.length < MAX_WINDOWS; ) {
    const to = ends.findLast((end) => end > from + MAX_LENGTH / 2 && end <= from + MAX_LENGTH) ?? from + MAX_LENGTH
    windows.push({ from, text: said.slice(from, to) })
    if (to >= said.length) break
    from = ends.find((end) => end > to - MAX_LENGTH / 4 && end < to) ?? to
  }
  return windows
}

function joined(windows: readonly Window[], readings: readonly Reading[]): Reading {
  const [first] = readings as [Reading]
  return {
    relevance: Math.max(...readings.map(({ relevance }) => relevance)),
    parameters: first.parameters.map((_, index) =>
      joinedParameter(
        windows,
        readings.map(({ parameters }) => parameters[index] as ParameterReading),
      ),
    ),
  }
}

function joinedParameter(windows: readonly Window[], readings: readonly ParameterReading[]): ParameterReading {
  const [from, to, start, end, inside] = [[], [], [], [], []] as [number[], number[], number[], number[], number[]]
  for (const [at, { span }] of readings.entries()) {
    const shift = windows[at]?.from ?? 0
    if (at > 0) {
      for (const logits of [start, end, inside]) logits.push(...Array<number>(GAP).fill(NEVER))
      for (const places of [from, to]) places.push(...Array<number>(GAP).fill(shift))
    }
    from.push(...span.from.map((place) => place + shift))
    to.push(...span.to.map((place) => place + shift))
    // Each window has its own score of "not mentioned".
    start.push(...span.start.map((logit) => logit - span.absent / 2))
    end.push(...span.end.map((logit) => logit - span.absent / 2))
    inside.push(...span.inside)
  }
  const sureness = ({ options, none }: ParameterReading): number => Math.max(...options) - none
  const { options, none } = readings.reduce((best, one) => (sureness(one) > sureness(best) ? one : best))
  const mentioned = Math.max(...readings.map((one) => one.mentioned))
  return { span: { from, to, start, end, inside, absent: 0 }, mentioned, options, none }
}
