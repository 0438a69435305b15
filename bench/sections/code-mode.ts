import { type Config, silentLog, ToolHandlers, ToolManager } from '../../src/index.ts'
import { type GivenTurn, scripted } from '../../src/testing/index.ts'
import { TASKS, TOOLS } from '../code-mode/tasks.ts'
import { figure } from '../figures.ts'
import type { Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { table } from '../table.ts'

/** A usual estimate for English and JSON. */
const CHARACTERS_PER_TOKEN = 4

interface Cost {
  readonly turns: number
  readonly calls: number
  readonly tokensIn: number
  readonly tokensOut: number
}

type Calls = { name: string; arguments: Record<string, unknown> }[]

/** Tasks of several steps with and without code, by a scripted model that makes no mistakes and no needless call. */
export const codeMode: Section = {
  id: 'code-mode',
  title: 'Code mode',
  async run({ progress }) {
    /** The calls of the code that runs, in rounds of calls that ran in parallel. */
    let rounds: Calls[] = []
    let running = 0
    const handlers = new ToolHandlers()
    const registry = TOOLS.map(([name, description, required, run]) => {
      const handler = async (params: Record<string, unknown>) => {
        if (running++ === 0) rounds.push([])
        rounds.at(-1)?.push({ name, arguments: params })
        // Calls that were sent together arrive together.
        await new Promise((resolve) => setTimeout(resolve, 20))
        running--
        return run(params as Record<string, string>)
      }
      handlers.register(name, handler, { effect: 'read' })
      const properties = Object.fromEntries(required.map((one) => [one, { type: 'string' }]))
      const parameters = { type: 'object', properties, required }
      return { name, description, parameters, implementation: { type: 'internal', handler: name } }
    })
    const config: Config = { tools: { enabled: true, registry, code_mode: { enabled: true } } }
    const manager = new ToolManager(config, { handlers, log: silentLog })
    await manager.loadTools()
    const names = TOOLS.map(([name]) => name)
    const costOf = async (
      question: string,
      turns: readonly GivenTurn[],
      allowed_tools: readonly string[],
    ): Promise<Cost> => {
      const model = scripted(...turns)
      const messages = [{ role: 'user', content: question } as const]
      const answer = await manager.getLoop().answer({ model, messages, allowed_tools, max_iterations: 100 })
      const failed = answer.tool_calls.find(({ result }) => !result.success)
      if (failed !== undefined || answer.stop_reason !== 'stop')
        throw new Error(`${question} ${JSON.stringify(failed?.result ?? answer)}`)
      const sent = model.requests.map(
        ({ messages, tools }) =>
          JSON.stringify([messages, tools.map(({ name, description, parameters }) => [name, description, parameters])])
            .length,
      )
      return {
        turns: model.requests.length,
        calls: answer.tool_calls.length,
        tokensIn: sent.reduce((sum, length) => sum + length, 0) / CHARACTERS_PER_TOKEN,
        tokensOut: JSON.stringify(turns).length / CHARACTERS_PER_TOKEN,
      }
    }
    try {
      const costs: { readonly question: string; readonly plain: Cost; readonly code: Cost; readonly runMs: number }[] =
        []
      for (const { question, code } of TASKS) {
        progress(question)
        rounds = []
        const result = await manager.getExecutor().execute('run_code', { code })
        if (!result.success) throw new Error(`${question} ${result.error}`)
        const text = JSON.stringify(result.result)
        const traced = rounds
        const plain = await costOf(question, [...traced.map((calls) => ({ calls })), text], names)
        const withCode = await costOf(
          question,
          [{ calls: [{ name: 'run_code', arguments: { code } }] }, text],
          ['run_code'],
        )
        costs.push({ question, plain, code: withCode, runMs: result.execution_time_ms })
      }
      const row = (what: string, pick: (cost: Cost) => number) => {
        const sum = (of: 'plain' | 'code') => costs.reduce((total, cost) => total + pick(cost[of]), 0)
        return [what, figure(sum('plain') / costs.length), figure(sum('code') / costs.length)]
      }
      const rows = [
        row('turns', ({ turns }) => turns),
        row('calls that the model makes', ({ calls }) => calls),
        row('tokens that it reads', ({ tokensIn }) => tokensIn),
        row('tokens that it writes', ({ tokensOut }) => tokensOut),
      ]
      const median = figure(spread(costs.map(({ runMs }) => runMs)).median)
      const note = [
        `Means of ${costs.length} tasks with ${TOOLS.length} tools, ${CHARACTERS_PER_TOKEN} characters a token. A script stands in for the model: it makes no mistakes,`,
        'and without code it makes the same calls, in parallel if the code does.',
        `A run of code takes ${median} ms (median), of which each round of calls is 20 ms.`,
      ].join(' ')
      return { raw: costs, markdown: `${table(['a task', 'tools one by one', 'code mode'], rows)}\n\n${note}` }
    } finally {
      await manager.close()
    }
  },
}
