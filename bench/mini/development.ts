import { readFileSync } from 'node:fs'
import type { Message, OfferedTool } from '../../src/models/model.ts'
import {
  type AcceptedParams,
  acceptedCall,
  type BfclFunction,
  bfclTool,
} from '../../src/validation/bfcl/bfcl-function.ts'
import { checkCalls } from '../../src/validation/bfcl/check-calls.ts'
import type { ObservedTurn, Verdict } from '../../src/validation/suites/suite.ts'

/** A request of ours with the tools on offer. */
export interface DevelopmentCase {
  readonly id: string
  readonly turns: readonly (readonly Message[])[]
  readonly tools: readonly OfferedTool[]
  readonly judge: (turns: readonly ObservedTurn[]) => Verdict | Promise<Verdict>
}

interface Written {
  readonly tool: BfclFunction
  readonly asked: readonly { readonly said: string; readonly params: AcceptedParams | null }[]
}

interface WrittenParallel {
  readonly tools: readonly BfclFunction[]
  readonly asked: readonly {
    readonly said: string
    readonly calls: readonly Readonly<Record<string, AcceptedParams>>[]
  }[]
}

const FILE = new URL('./development/requests.json', import.meta.url)
const PARALLEL_FILE = new URL('./development/parallel.json', import.meta.url)
/** The day on which "tomorrow" was written. */
export const DEVELOPMENT_NOW = Date.parse('2026-11-16T10:00:00Z')

/** The requests that values and the threshold may be tuned on; `no` are those that no call is right for. */
export function developmentCases(): { readonly calls: DevelopmentCase[]; readonly no: DevelopmentCase[] } {
  const groups: readonly Written[] = JSON.parse(readFileSync(FILE, 'utf8'))
  const all = groups.flatMap(({ tool, asked }) =>
    asked.map(({ said, params }, index) => {
      const accepted = params === null ? [] : [acceptedCall({ [tool.name]: params })].filter((one) => !!one)
      const one: DevelopmentCase = {
        id: `${tool.name}-${index}`,
        turns: [[{ role: 'user', content: said }]],
        tools: [bfclTool(tool, 'python')],
        judge: ([turn]) => checkCalls(turn?.calls ?? [], accepted, { functions: [tool], language: 'python' }),
      }
      return { one, wanted: params !== null }
    }),
  )
  const those = (wanted: boolean) => all.filter((each) => each.wanted === wanted).map(({ one }) => one)
  return { calls: those(true), no: those(false) }
}

/** The requests that need several calls. */
export function parallelCases(): DevelopmentCase[] {
  const groups: readonly WrittenParallel[] = JSON.parse(readFileSync(PARALLEL_FILE, 'utf8'))
  return groups.flatMap(({ tools, asked }) =>
    asked.map(({ said, calls }, index): DevelopmentCase => {
      const accepted = calls.map(acceptedCall).filter((one) => !!one)
      return {
        id: `${tools.map(({ name }) => name).join('-')}-${index}`,
        turns: [[{ role: 'user', content: said }]],
        tools: tools.map((tool) => bfclTool(tool, 'python')),
        judge: ([turn]) => checkCalls(turn?.calls ?? [], accepted, { functions: tools, language: 'python' }),
      }
    }),
  )
}
