import type { RunStep, StoredRun } from '../../../src/core/storage/run-store.ts'
import type { AgentRun, RunView } from '../../../src/server/http/views.ts'

/** A model turn, a call, or the run of an agent, with what it caused. */
export interface TreeNode {
  readonly id: string
  readonly kind: 'turn' | 'call' | 'run'
  readonly title: string
  /** The tool of a call, and the id of a run, for links. */
  readonly tool?: string
  readonly runId?: string
  /** Of the run of an agent that has a name. */
  readonly model?: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly durationMs: number
  readonly failed: boolean
  readonly tokens?: number
  readonly cost?: number
  readonly children: readonly TreeNode[]
}

interface Building extends Omit<TreeNode, 'children'> {
  readonly children: Building[]
}

/** A run as a tree: turns, the calls of each, and the runs of agents below the calls that started them. */
export function runTree({ steps, agents = [] }: Pick<RunView, 'steps' | 'agents'>): readonly TreeNode[] {
  const roots: Building[] = []
  const calls: Building[] = []
  for (const [index, step] of steps.entries()) {
    if (step.type === 'model') {
      const turns = roots.filter(({ kind }) => kind === 'turn').length
      roots.push({
        ...timesOf(step),
        ...usedBy(step),
        id: `${index}`,
        kind: 'turn',
        title: `Turn ${turns + 1}`,
        failed: false,
        children: [],
      })
      continue
    }
    const call = callOf(step, `${index}`)
    calls.push(call)
    const turn = roots.findLast(({ kind }) => kind === 'turn')
    ;(turn?.children ?? roots).push(call)
  }
  for (const agent of agents) placeOf(calls, agent, roots).push(agentNode(agent))
  return roots
}

/** All nodes in the order of the tree, each with its depth. */
export function flatTree(nodes: readonly TreeNode[], depth = 0): readonly (TreeNode & { readonly depth: number })[] {
  return nodes.flatMap((node) => [{ ...node, depth }, ...flatTree(node.children, depth + 1)])
}

/** The period of all nodes. */
export function periodOf(nodes: readonly TreeNode[]): { readonly from: number; readonly ms: number } {
  const all = flatTree(nodes)
  const from = Math.min(...all.map(({ startedAt }) => startedAt))
  const to = Math.max(...all.map(({ startedAt, durationMs }) => startedAt + durationMs))
  return { from, ms: Math.max(1, to - from) }
}

/** What a run, with its turns and calls, and the agents below it have used. The cost is undefined if none is known. */
export function totalOf(
  run: Pick<StoredRun, 'prompt_tokens' | 'completion_tokens' | 'cost'>,
  nodes: readonly TreeNode[],
): { readonly tokens: number; readonly cost: number | undefined } {
  const agents = flatTree(nodes).filter(({ kind }) => kind === 'run')
  const known = [run.cost ?? undefined, ...agents.map(({ cost }) => cost)].filter((cost) => cost !== undefined)
  return {
    tokens: agents.reduce((sum, { tokens = 0 }) => sum + tokens, run.prompt_tokens + run.completion_tokens),
    cost: known.length === 0 ? undefined : known.reduce((sum, cost) => sum + cost, 0),
  }
}

/** The children of the call that started an agent: a call of its tool, or the shortest of those that ran then. */
function placeOf(calls: readonly Building[], { agent, started_at }: AgentRun, roots: Building[]): Building[] {
  const at = Date.parse(started_at)
  // Times are rounded to milliseconds.
  const around = calls.filter(({ startedAt, durationMs }) => startedAt - 1 <= at && at <= startedAt + durationMs + 1)
  const own = around.filter(({ tool }) => tool === agent)
  // Calls of one agent may run at the same time, and each has one run.
  const free = own.find(({ children }) => children.length === 0)
  const [nearest] = around.toSorted((a, b) => a.durationMs - b.durationMs)
  return (free ?? own[0] ?? nearest)?.children ?? roots
}

const timesOf = ({ started_at, duration_ms }: Pick<StoredRun, 'started_at' | 'duration_ms'>) => ({
  startedAt: Date.parse(started_at),
  durationMs: duration_ms,
})

/** Absent in runs of older versions, and if the provider reports none. */
function usedBy({ prompt_tokens, completion_tokens = 0, cost }: RunStep): Pick<TreeNode, 'tokens' | 'cost'> {
  return {
    ...(prompt_tokens !== undefined && { tokens: prompt_tokens + completion_tokens }),
    ...(cost !== undefined && { cost }),
  }
}

function callOf(step: RunStep, id: string): Building {
  const { tool = '', result } = step
  const { success, cost } = Object(result) as { readonly success?: unknown; readonly cost?: unknown }
  const known = { ...timesOf(step), id, kind: 'call', title: tool, tool, failed: success === false } as const
  return { ...known, ...(typeof cost === 'number' && { cost }), children: [] }
}

const agentNode = (agent: AgentRun): Building => ({
  ...timesOf(agent),
  id: agent.id,
  kind: 'run',
  title: agent.agent ?? agent.model,
  ...(agent.agent !== undefined && { model: agent.model }),
  runId: agent.id,
  failed: agent.stop_reason === 'error',
  tokens: agent.prompt_tokens + agent.completion_tokens,
  ...(agent.cost !== null && { cost: agent.cost }),
  children: agent.agents.map(agentNode),
})
