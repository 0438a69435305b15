import type { Params } from '../../core/tool.ts'
import { type Answer, answerEvents } from '../answer-events.ts'
import type { Message, OfferedTool, ToolCall } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { WireMaker } from '../provider.ts'
import { type DemoRule, demoRules } from './demo-rules.ts'

const MODEL = 'rules'
/** No rule is for longer questions, and patterns take their time over long texts. */
const LONGEST_QUESTION = 300
const ABOUT =
  'I am demo:rules: a few rules, not a language model. I can ask tools about the weather ("What\'s the weather in ' +
  'Paris?"), sums ("Calculate 15% tip on $45"), the time ("What time is it in Tokyo?"), letters ("How many r are in ' +
  'strawberry?") and documents ("Search for deadlines in the docs"). For anything else configure a real model: a ' +
  'provider under "providers" and --model provider:model.'

/** `demo:rules`, a model for a machine without any key or server: the table of rules, and no understanding. */
export const demoWire: WireMaker = () => ({
  dialect: 'plain',
  async *stream(model, request) {
    request.signal?.throwIfAborted()
    if (model !== MODEL) {
      throw new ModelError(`The provider demo has no model '${model}': its only one is demo:${MODEL}.`)
    }
    yield* answerEvents(request, answerTo(request.messages, request.tools))
  },
  list: async () => [{ name: MODEL, capabilities: ['function-calling'] }],
})

function answerTo(messages: readonly Message[], tools: readonly OfferedTool[]): Answer {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const question = (messages[asked]?.content ?? '').trim().replace(/[\s?.!]+$/, '')
  const [rule, match] = find(question)
  const since = messages.slice(asked + 1)
  const results = since.filter((message) => message.role === 'tool')
  if (results.length > 0) {
    const calls = since.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    return results.map((result) => say(rule, match, result, calls)).join(' ')
  }
  if (rule === undefined) return ABOUT
  if (rule.tools === undefined || rule.calls === undefined) return rule.sentence(match, {}, {})
  const calls = rule.calls(match)
  const tool = tools.find(({ name }) => rule.tools?.includes(name))?.name
  if (tool !== undefined && calls.length > 0) return calls.map((params) => ({ tool, params }))
  const lacking = tool === undefined ? `the tool '${rule.tools[0]}', which I was not offered` : 'to know more than I do'
  return `For this I would need ${lacking}. ${ABOUT}`
}

function find(question: string): [DemoRule | undefined, readonly string[]] {
  if (question.length > LONGEST_QUESTION) return [undefined, []]
  for (const rule of demoRules) {
    const match = rule.pattern.exec(question)
    if (match !== null) return [rule, match]
  }
  return [undefined, []]
}

/** A sentence from one result; a result that is none of the rule's is shown as it came. */
function say(
  rule: DemoRule | undefined,
  match: readonly string[],
  { name, content, tool_call_id }: Extract<Message, { role: 'tool' }>,
  calls: readonly ToolCall[],
): string {
  const envelope = parse(content)
  if (envelope.success === false) return `Sorry, the tool ${name} failed: ${envelope.error}`
  const { result } = envelope
  if (!rule?.tools?.includes(name) || typeof result !== 'object' || result === null) {
    return `The tool ${name} gave ${JSON.stringify(result) ?? content}.`
  }
  const params = parse(calls.find(({ id }) => id === tool_call_id)?.function.arguments ?? '')
  return rule.sentence(match, result as Params, params)
}

function parse(text: string): Params {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Params) : {}
  } catch {
    return {}
  }
}
