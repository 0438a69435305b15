import assert from 'node:assert/strict'
import type { Message, Model, ModelRequest, ToolCall } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import type { ContractCase } from './kind-contract.ts'
import { modelScript, type ScriptedTurn, scriptedTools } from './model-script.ts'
import { type ReadAnswer, readStream } from './read-stream.ts'

/**
 * What the contract needs to know of a model: how to get one, and what may be seen behind it.
 *
 * Whatever stands behind the model (a wire server, a fake of a framework) has to answer as `modelScript` says: it looks
 * for the turn by the text of the last user message, gives `afterResults` where results of calls stand after that message and
 * `answer` where none do. `scriptedAnswer(asked, answered)` does the looking.
 */
export interface ModelUnderTest {
  /** Called for every clause. */
  make(): Model | Promise<Model>
  /** The names of the tools in the last question that came through; left out where nobody can look. */
  offered?(): readonly string[]
  /** How many answers were broken off by the asker so far; left out where there is no connection. */
  brokenOff?(): number
}

/** What every model must keep to, so that the loop can rely on it. */
export function modelContract({ make, offered, brokenOff }: ModelUnderTest): ContractCase[] {
  const ask = async (turn: ScriptedTurn, more: Partial<ModelRequest> = {}): Promise<ReadAnswer> =>
    readStream(await make(), { messages: question(turn), tools: scriptedTools, ...more })
  const cases: ContractCase[] = [
    {
      name: 'streams text piece by piece and stops',
      async run() {
        const { text, pieces, calls, finish } = await ask(modelScript.text)
        assert.equal(text, modelScript.text.answer.text)
        assert.ok(pieces.length > 1, 'the text comes in several pieces')
        assert.deepEqual(calls, [])
        assert.equal(finish.reason, 'stop')
      },
    },
    ...([modelScript.call, modelScript.parallel, modelScript.textAndCall, modelScript.bare] as ScriptedTurn[]).map(
      (turn): ContractCase => ({
        name: `gives the calls of "${turn.asked}" and finishes with tool_calls`,
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
        name: `takes the results of "${turn.asked}" back and answers`,
        async run() {
          const { text, finish } = await ask(turn, { messages: await history(turn) })
          assert.equal(text, turn.afterResults?.text)
          assert.equal(finish.reason, 'stop')
        },
      }),
    ),
    {
      name: 'gives other ids to the calls of another turn',
      async run() {
        const ids = [...(await ask(modelScript.parallel)).calls, ...(await ask(modelScript.parallel)).calls]
        assert.equal(new Set(ids.map(({ id }) => id)).size, 4)
      },
    },
    {
      name: 'answers after calls when no tools are offered any more',
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
      name: 'keeps answers apart that are asked for at the same time',
      async run() {
        const model = await make()
        const turns = [modelScript.text, modelScript.call, modelScript.textAndCall] as ScriptedTurn[]
        const answers = await Promise.all(
          turns.map((turn) => readStream(model, { messages: question(turn), tools: scriptedTools })),
        )
        assert.deepEqual(
          answers.map(({ text, calls }) => [text, calls.map(readCall)]),
          turns.map(({ answer }) => [answer.text ?? '', answer.calls ?? []]),
        )
      },
    },
    {
      name: 'leaves the request as it was',
      async run() {
        const messages = await history(modelScript.textAndCall)
        const before = JSON.stringify([messages, scriptedTools])
        await ask(modelScript.textAndCall, { messages, max_tokens: 100, temperature: 0 })
        assert.equal(JSON.stringify([messages, scriptedTools]), before)
      },
    },
    {
      name: 'throws a ModelError where the provider fails',
      async run() {
        await assert.rejects(ask(modelScript.failure), ModelError)
      },
    },
    {
      name: 'does not ask for a caller that has gone away, and throws its reason',
      async run() {
        const reason = new Error('gone')
        await assert.rejects(ask(modelScript.text, { signal: AbortSignal.abort(reason) }), (error) => error === reason)
      },
    },
    {
      name: 'breaks the answer off when told to, and throws the reason',
      async run() {
        const before = brokenOff?.() ?? 0
        const reason = new Error('enough')
        const controller = new AbortController()
        const reading = async (): Promise<void> => {
          const model = await make()
          const request = { messages: question(modelScript.slow), tools: [], signal: controller.signal }
          for await (const { type } of model.stream(request)) if (type === 'text-delta') controller.abort(reason)
        }
        await assert.rejects(reading, (error) => error === reason)
        await sees(() => brokenOff === undefined || brokenOff() > before)
      },
    },
    {
      name: 'breaks the answer off when nobody reads on',
      async run() {
        const before = brokenOff?.() ?? 0
        const model = await make()
        for await (const { type } of model.stream({ messages: question(modelScript.slow), tools: [] })) {
          if (type === 'text-delta') break
        }
        await sees(() => brokenOff === undefined || brokenOff() > before)
      },
    },
  ]
  if (offered !== undefined) {
    cases.push({
      name: 'offers the tools it is given, and none where it is given none',
      async run() {
        await ask(modelScript.text)
        assert.deepEqual(offered(), ['get_weather', 'get_time'])
        await ask(modelScript.text, { tools: [] })
        assert.deepEqual(offered(), [])
      },
    })
  }
  return cases

  /** Question, calls and results; where there are two calls, the second has failed. */
  async function history(turn: ScriptedTurn): Promise<Message[]> {
    const { message, calls } = await ask(turn)
    return [...question(turn), message, ...calls.map(resultOf)]
  }
}

const question = (turn: ScriptedTurn): Message[] => [
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

/** A connection is closed a moment after it was broken off. */
async function sees(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 200 && !holds(); turns++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(holds(), 'the connection is closed')
}
