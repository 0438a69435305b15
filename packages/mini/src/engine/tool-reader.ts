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

export interface ToolReader {
  read(questions: readonly Question[], signal?: AbortSignal): Promise<Reading[]>
  /** The meaning of texts as vectors: their dot product tells how close two texts are. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<number[][]>
}
