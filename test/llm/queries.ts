import type { ToolManager } from '../../src/index.ts'
import type { Message, Model, OfferedTool } from '../../src/models/model.ts'
import { readStream } from '../../src/testing/model-contract.ts'

/** The ready-made queries, and the tool that each of them is for. */
const QUERIES: readonly [string, string | undefined][] = [
  ["What's the weather in Paris?", 'get_weather'],
  ['Calculate 15% tip on $45', 'calculate'],
  ["What's 2+2?", undefined],
  ['Search for Python decorators in the docs', 'search_documents'],
]
const MOST_TURNS = 2

/** What a model did with one query. */
export interface Outcome {
  readonly query: string
  readonly calls: string
  readonly answer: string
  readonly right_tool: boolean
  readonly tokens: number
  readonly seconds: number
}

/** Asks the ready-made queries, running what is called, and tells what came of it. Nothing here must hold. */
export async function runQueries(
  model: Model,
  manager: ToolManager,
  tools: readonly OfferedTool[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const [query, expected] of QUERIES) {
    const started = performance.now()
    const messages: Message[] = [{ role: 'user', content: query }]
    const called: { name: string; line: string }[] = []
    let tokens = 0
    let answer = ''
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const { text, calls, message, finish } = await readStream(model, {
        messages,
        tools,
        max_tokens: 64,
        temperature: 0,
      })
      tokens += finish.usage?.total_tokens ?? 0
      answer =
        finish.reason === 'tool_calls' ? '' : `${text || '(no text)'}${finish.reason === 'length' ? ' … (cut)' : ''}`
      messages.push(message)
      for (const { id, function: call } of calls) {
        const result = await manager.getExecutor().execute(call.name, JSON.parse(call.arguments))
        called.push({
          name: call.name,
          line: `${call.name} ${call.arguments} → ${result.success ? 'ok' : result.error_code}`,
        })
        messages.push({ role: 'tool', tool_call_id: id, name: call.name, content: JSON.stringify(result) })
      }
      if (calls.length === 0) break
    }
    outcomes.push({
      query,
      calls: called.map(({ line }) => line).join('; ') || '(none)',
      answer: answer.replaceAll(/\s+/g, ' ').slice(0, 120) || '(still calling)',
      right_tool: called[0]?.name === expected,
      tokens,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    })
  }
  return outcomes
}
