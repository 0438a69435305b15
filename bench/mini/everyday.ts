import { readFileSync } from 'node:fs'
import { ToolManager } from '../../src/app/tools/tool-manager.ts'
import { sameJson } from '../../src/core/json/canonical-text.ts'
import { silentLog } from '../../src/core/log.ts'
import { isObject } from '../../src/core/schema/schema-keywords.ts'
import { datetimeHandler } from '../../src/kinds/builtin/shipped.ts'
import { ToolHandlers } from '../../src/kinds/tool-handlers.ts'
import type { BfclFunction } from '../../src/validation/bfcl/bfcl-function.ts'
import { checkCalls } from '../../src/validation/bfcl/check-calls.ts'
import type { FailureKind, ObservedCall, Verdict } from '../../src/validation/suites/suite.ts'
import { DEVELOPMENT_NOW, type DevelopmentCase } from './development.ts'

/** An accepted value `{"contains": ["rate limit"]}` stands for every text that contains these. */
type ExpectedCall = { readonly tool: string } & (
  | { readonly params: Readonly<Record<string, readonly unknown[]>> }
  | { readonly result: readonly unknown[] }
)

interface EverydayCase {
  readonly said: string
  readonly calls: readonly ExpectedCall[]
}

const SHIPPED = new URL('../../toolyard.config.json', import.meta.url)
const FILE = new URL('./development/everyday.json', import.meta.url)
/** The fields of a result that can be the answer, such as `value` of a period or `iso` of a time. */
const ANSWERS = ['result', 'value', 'formatted', 'iso', 'date']
const TOLERANCE = 1e-6

export const readEveryday = (): readonly EverydayCase[] => JSON.parse(readFileSync(FILE, 'utf8'))

/** Loads every second sentence, with all tools of the shipped configuration on offer. `close` ends their processes. */
export async function everydayCases(half: 'even' | 'odd') {
  const handlers = new ToolHandlers()
  handlers.register(
    'datetime',
    datetimeHandler(() => DEVELOPMENT_NOW),
    { effect: 'read' },
  )
  const manager = new ToolManager(JSON.parse(readFileSync(SHIPPED, 'utf8')), { handlers, log: silentLog })
  await manager.loadTools()
  const tools = manager.getRegistry().definitions()
  const functions = tools.map(({ name, description, parameters }) => {
    const { properties = {}, required = [] } = parameters
    return { name, description, parameters: { properties, required } } as BfclFunction
  })

  async function checkCall(call: ObservedCall, expected: ExpectedCall): Promise<Verdict> {
    if (call.tool !== expected.tool) return failed('wrong_tool', call)
    if ('params' in expected) {
      const accepted = Object.entries(expected.params).map(([name, values]) => [
        name,
        values.map((value) => (containsAll(call.params?.[name], value) ? call.params?.[name] : value)),
      ])
      const answer = { name: expected.tool, params: Object.fromEntries(accepted) }
      return checkCalls([call], [answer], { functions, language: 'python' })
    }
    const ran = await manager.getExecutor().execute(call.tool, call.params ?? {})
    const result: Readonly<Record<string, unknown>> = ran.success ? Object(ran.result) : {}
    const right = ANSWERS.some((field) => expected.result.some((value) => sameAnswer(result[field], value)))
    return right ? { passed: true } : failed('wrong_value', call)
  }

  async function judge(calls: readonly ObservedCall[], expected: readonly ExpectedCall[]): Promise<Verdict> {
    const [first] = calls
    if (expected.length === 0 && first !== undefined) return failed('unwanted_call', first)
    if (calls.length !== expected.length) return failed('wrong_count', ...calls)
    const left = [...calls]
    for (const one of expected) {
      const verdicts = await Promise.all(left.map((call) => checkCall(call, one)))
      const fitting = verdicts.findIndex(({ passed }) => passed)
      if (fitting < 0) {
        return verdicts.find((verdict) => !verdict.passed && verdict.kind !== 'wrong_tool') ?? (verdicts[0] as Verdict)
      }
      left.splice(fitting, 1)
    }
    return { passed: true }
  }

  const cases = readEveryday()
    .map(
      ({ said, calls }, index): DevelopmentCase => ({
        id: `everyday-${index}`,
        turns: [[{ role: 'user', content: said }]],
        tools,
        judge: ([turn]) => judge(turn?.calls ?? [], calls),
      }),
    )
    .filter((_, index) => index % 2 === (half === 'even' ? 0 : 1))
  return { cases, close: () => manager.close() }
}

function failed(kind: FailureKind, ...calls: readonly ObservedCall[]): Verdict {
  return { passed: false, kind, message: `Called ${calls.map(({ tool }) => tool).join(', ') || 'nothing'}.` }
}

function containsAll(given: unknown, value: unknown): boolean {
  if (typeof given !== 'string' || !isObject(value) || !Array.isArray(value.contains)) return false
  return value.contains.every((piece) => given.toLowerCase().includes(String(piece)))
}

/** Numbers may differ by rounding, and may have a unit: `26.1 mi` is 26.1. */
function sameAnswer(given: unknown, accepted: unknown): boolean {
  if (given === undefined) return false
  if (typeof accepted !== 'number') return sameJson(given, accepted)
  return Math.abs(Number.parseFloat(String(given)) - accepted) <= TOLERANCE * Math.abs(accepted)
}
