import type { Message } from '../../../src/models/model.ts'
import type { Answer, RunState } from './run-state.ts'

/** What a thread asks with. */
export interface ThreadSettings {
  /** One column each. */
  readonly models: readonly (string | null)[]
  /** The tools that the models are offered; all by default. */
  readonly tools?: readonly string[]
  /** No tool runs: calls get these results, as JSON text by tool. */
  readonly mocks?: Readonly<Record<string, string>>
  /** Whether calls of `write` tools wait for approval. */
  readonly asksWrites: boolean
}

/** A question and the answer of each model. */
export interface Turn {
  readonly id: string
  readonly query: string
  readonly replies: readonly Reply[]
}

/** The run that answers. Without its steps after a reload: the server has them. */
export interface Reply extends RunState {
  /** The number of calls of a run whose steps are not here. */
  readonly calls?: number
  /** The tools of these calls. */
  readonly tools?: readonly string[]
}

/** A conversation with one model, or with several side by side. */
export interface Thread {
  readonly id: string
  readonly updatedAt: number
  readonly settings: ThreadSettings
  readonly turns: readonly Turn[]
  /** Set if the user has named it. */
  readonly title?: string
  /** The version that the server has. */
  readonly version?: number | undefined
  /** It was changed after that. */
  readonly dirty?: boolean
  /** The number of its turns, if they are on the server only. */
  readonly questions?: number
}

export const DEFAULT_SETTINGS: ThreadSettings = { models: [null], asksWrites: true }
export const MAX_THREADS = 200
/** The server takes 200 messages. */
export const MAX_TURNS = 100
export const MAX_TITLE = 60

/** Its name, or the first question in one line. */
export function titleOf({ title: given, turns }: Thread): string {
  const title = (given ?? turns[0]?.query ?? 'New thread').replace(/\s+/g, ' ')
  return title.length <= MAX_TITLE ? title : `${title.slice(0, MAX_TITLE - 1)}…`
}

/** The thread that a run belongs to, if its turns are in this browser. */
export const threadOfRun = (threads: readonly Thread[], run: string): Thread | undefined =>
  threads.find(({ turns }) => turns.some(({ replies }) => replies.some(({ answer }) => answer?.run_id === run)))

/** The messages before a turn, as the model in this column has seen them. Turns without an answer are left out. */
export function historyOf({ turns }: Thread, before: number, column: number): Message[] {
  return turns.slice(0, before).flatMap(({ query, replies }): Message[] => {
    const content = (replies[column] ?? replies[0])?.answer?.content ?? ''
    if (content === '') return []
    return [
      { role: 'user', content: query },
      { role: 'assistant', content },
    ]
  })
}

/** The body of `POST /api/tools/test`. Throws if a mock result is not JSON. */
export function questionOf(thread: Thread, turn: number, column: number, model: string): object {
  const { tools, mocks, asksWrites } = thread.settings
  const previous_messages = historyOf(thread, turn, column)
  return {
    query: thread.turns[turn]?.query ?? '',
    model,
    ...(previous_messages.length > 0 && { previous_messages }),
    ...(tools && { tools }),
    ...(mocks ? { mock: true, mock_results: mockResults(mocks, tools) } : asksWrites && { ask_writes: true }),
  }
}

function mockResults(mocks: Readonly<Record<string, string>>, tools: readonly string[] | undefined): object {
  const wanted = Object.entries(mocks).filter(
    ([tool, text]) => text.trim() !== '' && (tools === undefined || tools.includes(tool)),
  )
  return Object.fromEntries(wanted.map(([tool, text]) => [tool, JSON.parse(text) as unknown]))
}

/** Why mock results can't be sent. */
export function mockProblem(mocks: ThreadSettings['mocks']): string | undefined {
  for (const [tool, text] of Object.entries(mocks ?? {})) {
    const fault = jsonFault(text)
    if (fault !== undefined) return `The mock result of ${tool} is not JSON: ${fault}`
  }
  return undefined
}

/** Why a text that is not empty isn't JSON. */
export function jsonFault(text: string): string | undefined {
  try {
    if (text.trim() !== '') JSON.parse(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Adds a turn after the first `kept` ones, with a run for each model. */
export const withTurn = (thread: Thread, kept: number, turn: Turn, now: number): Thread => ({
  ...thread,
  updatedAt: now,
  turns: [...thread.turns.slice(0, kept), turn],
})

export const withReply = (thread: Thread, turn: string, column: number, change: (reply: Reply) => Reply): Thread => ({
  ...thread,
  turns: thread.turns.map((one) => {
    const reply = one.replies[column]
    return one.id !== turn || reply === undefined ? one : { ...one, replies: one.replies.with(column, change(reply)) }
  }),
})

/** A new thread that begins as another one, up to and including a turn. */
export const branched = (thread: Thread, turn: number, id: string, now: number): Thread => ({
  id,
  title: `Branch of ${titleOf(thread)}`.slice(0, MAX_TITLE),
  updatedAt: now,
  settings: thread.settings,
  turns: thread.turns.slice(0, turn + 1).map((one) => ({ ...one, replies: one.replies.map(interrupted) })),
})

export const isRunning = ({ turns }: Thread): boolean =>
  turns.at(-1)?.replies.some(({ status }) => status === 'running') === true

/** A run that went on in another thread, or whose page was closed. */
const interrupted = (reply: Reply): Reply =>
  reply.status === 'running'
    ? { ...reply, status: 'cancelled', problem: 'The page was closed before the answer.' }
    : reply

const withReplies = (thread: Thread, change: (reply: Reply) => Reply): Thread => ({
  ...thread,
  turns: thread.turns.map((turn) => ({ ...turn, replies: turn.replies.map(change) })),
})

/** Threads as they are stored, without the steps of runs. */
export const stored = (threads: readonly Thread[]): Thread[] =>
  threads.map((thread) => withReplies(thread, withoutSteps))

/** Reads stored threads. Leaves out what is not one. */
export const read = (threads: unknown): Thread[] =>
  (Array.isArray(threads) ? threads : []).filter(isThread).map((thread) => withReplies(thread, interrupted))

const isThread = (value: unknown): value is Thread => {
  const { id, turns, settings } = Object(value) as Partial<Thread>
  const isTurn = (turn: unknown) => Array.isArray((Object(turn) as Partial<Turn>).replies)
  return typeof id === 'string' && Array.isArray(settings?.models) && Array.isArray(turns) && turns.every(isTurn)
}

/** Parameters and results stay on the server, which may not store them. */
function withoutSteps(reply: Reply): Reply {
  const { turns, answer, ...rest } = reply
  const calls = callsIn(reply)
  return {
    ...rest,
    calls,
    tools: toolsIn(reply),
    turns: [],
    ...(answer && { answer: { ...answer, tool_calls: [] } as Answer }),
  }
}

/** The tool of each call so far. */
export function toolsIn({ turns, answer, tools = [] }: Reply): readonly string[] {
  const made = answer?.tool_calls.length ? answer.tool_calls : turns.flatMap((turn) => turn.calls)
  return made.length === 0 ? tools : made.map(({ tool }) => tool)
}

/** The number of calls so far. */
export const callsIn = ({ turns, answer, calls = 0 }: Reply): number =>
  Math.max(
    calls,
    answer?.tool_calls.length ?? 0,
    turns.reduce((sum, turn) => sum + turn.calls.length, 0),
  )
