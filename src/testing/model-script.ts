import type { OfferedTool } from '../models/model.ts'

/** A response: text, calls, both, or a failure. */
export interface ScriptedAnswer {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[]
  /** The HTTP status to fail with; any failure if there is no HTTP. */
  readonly status?: number
  /** Streams many small pieces with pauses, so that it can be aborted. */
  readonly slow?: true
}

/** A conversation: its user message, the first response, and the response after the results of all calls. */
export interface ScriptedTurn {
  readonly asked: string
  readonly answer: ScriptedAnswer
  readonly afterResults?: ScriptedAnswer
}

const weather = (location: string) => ({ name: 'get_weather', arguments: { location } })

/** The responses of the server behind a model under test. No `asked` is part of another, so turns can be found by text. */
export const modelScript = {
  text: { asked: 'Say hello.', answer: { text: 'Hello! What can I do for you today?' } },
  call: {
    asked: 'What is the weather in Paris?',
    answer: { calls: [weather('Paris')] },
    afterResults: { text: 'It is sunny in Paris.' },
  },
  parallel: {
    asked: 'Compare the weather of two towns.',
    answer: { calls: [weather('Paris'), weather('Oslo')] },
    afterResults: { text: 'Paris is sunny, Oslo could not be asked.' },
  },
  textAndCall: {
    asked: 'Announce it, then look at the weather.',
    answer: { text: 'Let me look at the weather.', calls: [weather('Lima')] },
    afterResults: { text: 'It is cloudy in Lima.' },
  },
  bare: {
    asked: 'What time is it?',
    answer: { calls: [{ name: 'get_time', arguments: {} }] },
    afterResults: { text: 'It is noon.' },
  },
  slow: { asked: 'Tell a long story.', answer: { text: 'Once upon a time there was a tool. '.repeat(40), slow: true } },
  failure: { asked: 'Break down.', answer: { status: 500 } },
} as const satisfies Record<string, ScriptedTurn>

/** The tools of the script. */
export const scriptedTools: readonly OfferedTool[] = [
  {
    name: 'get_weather',
    description: 'Says what the weather is like in a town.',
    parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
  },
  { name: 'get_time', description: 'Says what time it is.', parameters: { type: 'object', properties: {} } },
]

/** Finds the response to a user message; `answered` tells whether tool results follow it. */
export function scriptedAnswer(asked: string, answered: boolean): ScriptedAnswer | undefined {
  const turn: ScriptedTurn | undefined = Object.values(modelScript).find((one) => asked.includes(one.asked))
  return answered ? turn?.afterResults : turn?.answer
}
