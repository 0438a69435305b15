import assert from 'node:assert/strict'
import type { AssistantMessage, Message, Model, ModelEvent, ModelRequest, ToolCall } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import type { ContractCase } from './kind-contract.ts'
import { modelScript, type ScriptedTurn, scriptedTools } from './model-script.ts'

/**
 * A model, with access to the server behind it.
 *
 * The server must answer as `modelScript` says: it finds the turn by the text of the last user message, and answers with
 * `afterResults` if tool results follow that message, otherwise with `answer`. `scriptedAnswer` does this lookup.
 */
export interface ModelUnderTest {
  /** Called for each request. */
  make(): Model | Promise<Model>
  /** The names of the tools in the last request; omit it if the server can't be observed. */
  offered?(): readonly string[]
  /** The number of responses that the client has aborted; omit it if there is no connection. */
  brokenOff?(): number
}

/** The contract that the loop relies on, for any model. */
export function modelContract({ make, offered, brokenOff }: ModelUnderTest): ContractCase[] {
  const ask = async (turn: ScriptedTurn, more: Partial<ModelRequest> = {}): Promise<ReadAnswer> =>
    readStream(await make(), { messages: messagesOf(turn), tools: scriptedTools, ...more })
  const cases: ContractCase[] = [
    {
      name: 'streams text in pieces and stops',
      async run() {
        const { text, pieces, calls, finish } = await ask(modelScript.text)
        assert.equal(text, modelScript.text.answer.text)
        assert.ok(pieces.length > 1, 'the text has several pieces')
        assert.deepEqual(calls, [])
        assert.equal(finish.reason, 'stop')
      },
    },
    ...([modelScript.call, modelScript.parallel, modelScript.textAndCall, modelScript.bare] as ScriptedTurn[]).map(
      (turn): ContractCase => ({
        name: `makes the calls of "${turn.asked}" and finishes with tool_calls`,
        async run() {
          const { text, calls, finish } = await ask(turn)
          assert.equal(text, turn.answer.text ?? '')
          assert.deepEqual(calls.map(readCall), turn.answer.calls)
          assert.equal(finish.reason, 'tool_calls')
        },
      }),
    ),
    ...([modelScript.call, modelScript.parallel, modelScript.textAndCall, modelScript.bare] as ScriptedTurn[]).map(
      (turn): ContractCase => ({
        name: `answers after the results of "${turn.asked}"`,
        async run() {
          const { text, finish } = await ask(turn, { messages: await history(turn) })
          assert.equal(text, turn.afterResults?.text)
          assert.equal(finish.reason, 'stop')
        },
      }),
    ),
    {
      name: 'takes media in a message, or a short text for it',
      async run() {
        const content = [{ type: 'text', text: modelScript.text.asked }, PIXEL] as const
        const { text } = await ask(modelScript.text, { messages: [{ role: 'user', content }] })
        assert.equal(text, modelScript.text.answer.text)
      },
    },
    {
      name: 'uses new call ids in each turn',
      async run() {
        const ids = [...(await ask(modelScript.parallel)).calls, ...(await ask(modelScript.parallel)).calls]
        assert.equal(new Set(ids.map(({ id }) => id)).size, 4)
      },
    },
    {
      name: 'answers after calls when no tools are offered',
      async run() {
        const { text, calls } = await ask(modelScript.parallel, {
          messages: await history(modelScript.parallel),
          tools: [],
        })
        assert.equal(text, modelScript.parallel.afterResults.text)
        assert.deepEqual(calls, [])
      },
    },
    {
      name: 'keeps concurrent responses apart',
      async run() {
        const model = await make()
        const turns = [modelScript.text, modelScript.call, modelScript.textAndCall] as ScriptedTurn[]
        const answers = await Promise.all(
          turns.map((turn) => readStream(model, { messages: messagesOf(turn), tools: scriptedTools })),
        )
        assert.deepEqual(
          answers.map(({ text, calls }) => [text, calls.map(readCall)]),
          turns.map(({ answer }) => [answer.text ?? '', answer.calls ?? []]),
        )
      },
    },
    {
      name: 'does not change the request',
      async run() {
        const messages = await history(modelScript.textAndCall)
        const before = JSON.stringify([messages, scriptedTools])
        await ask(modelScript.textAndCall, { messages, max_tokens: 100, temperature: 0 })
        assert.equal(JSON.stringify([messages, scriptedTools]), before)
      },
    },
    {
      name: 'throws a ModelError if the provider fails',
      async run() {
        await assert.rejects(ask(modelScript.failure), ModelError)
      },
    },
    {
      name: 'sends no request for an aborted signal, and throws its reason',
      async run() {
        const reason = new Error('gone')
        await assert.rejects(ask(modelScript.text, { signal: AbortSignal.abort(reason) }), (error) => error === reason)
      },
    },
    {
      name: 'aborts the response on a signal, and throws its reason',
      async run() {
        const before = brokenOff?.() ?? 0
        const reason = new Error('enough')
        const controller = new AbortController()
        const reading = async (): Promise<void> => {
          const model = await make()
          const request = { messages: messagesOf(modelScript.slow), tools: [], signal: controller.signal }
          for await (const { type } of model.stream(request)) if (type === 'text-delta') controller.abort(reason)
        }
        await assert.rejects(reading, (error) => error === reason)
        await sees(() => brokenOff === undefined || brokenOff() > before)
      },
    },
    {
      name: 'aborts the response when the reader stops',
      async run() {
        const before = brokenOff?.() ?? 0
        const model = await make()
        for await (const { type } of model.stream({ messages: messagesOf(modelScript.slow), tools: [] })) {
          if (type === 'text-delta') break
        }
        await sees(() => brokenOff === undefined || brokenOff() > before)
      },
    },
  ]
  if (offered !== undefined) {
    cases.push({
      name: 'offers exactly the given tools',
      async run() {
        await ask(modelScript.text)
        assert.deepEqual(offered(), ['get_weather', 'get_time'])
        await ask(modelScript.text, { tools: [] })
        assert.deepEqual(offered(), [])
      },
    })
  }
  return cases

  /** The request, its calls and their results; a second call has failed. */
  async function history(turn: ScriptedTurn): Promise<Message[]> {
    const { message, calls } = await ask(turn)
    return [...messagesOf(turn), message, ...calls.map(resultOf)]
  }
}

const PIXEL = {
  type: 'image',
  media_type: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGOoBwAAgQCA05RTSgAAAABJRU5ErkJggg==',
} as const

const messagesOf = (turn: ScriptedTurn): Message[] => [
  { role: 'system', content: 'You are helpful.' },
  { role: 'user', content: turn.asked },
]

const readCall = ({ function: { name, arguments: text } }: ToolCall) => ({ name, arguments: JSON.parse(text) })

function resultOf({ id, function: { name } }: ToolCall, index: number): Message {
  const envelope =
    index === 0
      ? { success: true, result: { condition: 'sunny' }, tool_name: name, execution_time_ms: 3 }
      : { success: false, error: 'Not now.', error_code: 'TIMEOUT', tool_name: name, execution_time_ms: 3 }
  return { role: 'tool', tool_call_id: id, name, content: JSON.stringify(envelope) }
}

/** Waits: a connection closes shortly after the abort. */
async function sees(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 200 && !holds(); turns++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(holds(), 'the connection is closed')
}

/** A complete response of a model. */
export interface ReadAnswer {
  readonly events: readonly ModelEvent[]
  /** The text deltas. */
  readonly pieces: readonly string[]
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly finish: Extract<ModelEvent, { type: 'finish' }>
  /** The message for the conversation. */
  readonly message: AssistantMessage
}

/** Reads a response to its end, and throws if its events violate the protocol. */
export async function readStream(model: Model, request: ModelRequest): Promise<ReadAnswer> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request)) events.push(event)
  const pieces = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))
  const finish = events.at(-1)
  assert.ok(finish?.type === 'finish', 'the last event is the finish')
  assert.equal(events.filter(({ type }) => type === 'finish').length, 1, 'there is exactly one finish')
  const calls = readCalls(events)
  const text = pieces.join('')
  if (finish.usage !== undefined) {
    const { prompt_tokens, completion_tokens, total_tokens } = finish.usage
    for (const tokens of [prompt_tokens, completion_tokens, total_tokens]) {
      assert.ok(Number.isInteger(tokens) && tokens >= 0, 'token counts are integers')
    }
    assert.ok(total_tokens >= prompt_tokens + completion_tokens, 'the total includes prompt and completion')
  }
  const message: AssistantMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(finish.metadata !== undefined && { metadata: finish.metadata }),
  }
  return { events, pieces, text, calls, finish, message }
}

function readCalls(events: readonly ModelEvent[]): ToolCall[] {
  const started = new Map<string, { name: string; text: string; ended: boolean }>()
  const calls: ToolCall[] = []
  for (const event of events) {
    if (event.type === 'tool-call-start') {
      assert.ok(!started.has(event.id), `the id "${event.id}" is unique`)
      assert.notEqual(event.id, '', 'a call has an id')
      started.set(event.id, { name: event.name, text: '', ended: false })
    } else if (event.type === 'tool-call-delta') {
      const call = started.get(event.id)
      assert.ok(call !== undefined && !call.ended, 'arguments come between start and end of their call')
      call.text += event.text
    } else if (event.type === 'tool-call-end') {
      const call = started.get(event.call.id)
      assert.ok(call !== undefined && !call.ended, 'a call ends once, after its start')
      call.ended = true
      assert.equal(event.call.type, 'function')
      assert.equal(event.call.function.name, call.name, 'a call keeps its name')
      if (call.text !== '') assert.equal(event.call.function.arguments, call.text, 'the pieces are the arguments')
      calls.push(event.call)
    }
  }
  return calls
}
