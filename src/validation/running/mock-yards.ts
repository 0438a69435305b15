import { ToolLoop } from '../../chat/tool-loop.ts'
import type { Clock } from '../../core/clock.ts'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ToolExecutor } from '../../core/tool-executor.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import { mock } from '../../kinds/mock.ts'
import type { SuiteCase } from '../suites/suite.ts'

/** The loop over the tools of a case, and what of them cannot be offered. */
export interface MockYard {
  readonly loop: ToolLoop
  /** Why a tool of the case cannot be offered, in a sentence. */
  readonly problem?: string
}

const DEFAULT_ANSWER = { ok: true }
/** Cases that follow each other mostly share their tools; more than this are made anew. */
const MOST_YARDS = 256

/** Makes the tools of cases, every one of them a mock: there is no kind that could do anything real. */
export class MockYards {
  readonly #clock: Clock
  readonly #yards = new Map<string, MockYard>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same one for all cases with the same tools. */
  of({ tools, mocks }: SuiteCase): MockYard {
    const key = canonicalText([
      tools.map(({ name, description, parameters }) => [name, description, parameters]),
      mocks,
    ])
    const known = this.#yards.get(key)
    if (known !== undefined) return known
    const [oldest] = this.#yards.keys()
    if (oldest !== undefined && this.#yards.size >= MOST_YARDS) this.#yards.delete(oldest)
    const made = this.#make(tools, mocks)
    this.#yards.set(key, made)
    return made
  }

  #make(tools: readonly ToolDefinition[], mocks: SuiteCase['mocks']): MockYard {
    const clock = this.#clock
    const registry = new ToolRegistry()
    // Limits, permissions and caches of the real tool say nothing about the model.
    for (const { name, description, parameters } of tools) {
      const mock_response = Object.hasOwn(mocks, name) ? mocks[name] : DEFAULT_ANSWER
      registry.register({ name, description, parameters, implementation: { type: 'mock', mock_response } })
    }
    const loop = new ToolLoop(registry, new ToolExecutor(registry, { kinds: { mock }, clock }), { clock })
    const broken = tools.find(({ name }) => registry.brokenReason(name) !== undefined)
    if (broken === undefined) return { loop }
    return { loop, problem: `Tool '${broken.name}' has an invalid schema: ${registry.brokenReason(broken.name)}` }
  }
}
