import { fileURLToPath } from 'node:url'
import type { Adapter, Handler, JsonSchema, McpServer, Runtime, Setup, Tool } from './adapter.ts'
import { readJournal } from './journal.ts'

/** How long a call may take where a case is about deadlines. */
export const DEADLINE_MS = 1000
/** What a call may take beyond its deadline on a busy machine. */
export const GRACE_MS = 2000
/** A deadline that no case reaches: where it is about something else. */
export const FAR_MS = 15_000
/** How long anybody waits for something to start, and to start again. */
export const START_MS = 8000

const STDIO_SERVER = fileURLToPath(new URL('./servers/stdio-server.ts', import.meta.url))

/** What a case works with: a runtime to start, tools and servers to give it. */
export class Probe {
  readonly #adapter: Adapter
  readonly #runtimes: Runtime[] = []
  /** Where the servers of the case write down what they do. */
  readonly folder: string

  constructor(adapter: Adapter, folder: string) {
    this.#adapter = adapter
    this.folder = folder
  }

  /** Starts the runtime. Whatever the case says nothing of is empty, and the deadline far away. */
  async start(setup: Partial<Setup>): Promise<Runtime> {
    const runtime = await this.#adapter.make({
      tools: [],
      mcpServers: {},
      deadlineMs: FAR_MS,
      folder: this.folder,
      ...setup,
    })
    this.#runtimes.push(runtime)
    return runtime
  }

  /** The loop of a runtime; a case that asks for it has said that it needs one. */
  loopOf(runtime: Runtime): NonNullable<Runtime['run']> {
    if (runtime.run === undefined) throw new Error('The adapter says that it can "loop", but its runtime has no run()')
    return runtime.run.bind(runtime)
  }

  /** The approvals of a runtime; a case that asks for them has said that it needs them. */
  approvalsOf(runtime: Runtime): Required<Pick<Runtime, 'begin' | 'decide'>> {
    const { begin, decide } = runtime
    if (begin === undefined || decide === undefined)
      throw new Error('The adapter says that it can "approval", but its runtime has no begin() and decide()')
    return { begin: begin.bind(runtime), decide: decide.bind(runtime) }
  }

  /** An MCP server of ours over stdio; see servers/stdio-server.ts for the flags. */
  stdioServer(...flags: string[]): McpServer {
    return { command: process.execPath, args: [STDIO_SERVER, this.folder, ...flags] }
  }

  /** How often the servers were told to do something that cannot be undone, and did. */
  writes(): number {
    return readJournal(this.folder).filter(({ event }) => event === 'write').length
  }

  /** Whether a server has got a call of this tool. */
  hasGot(tool: string): boolean {
    return readJournal(this.folder).some((entry) => entry.event === 'call' && entry.tool === tool)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#runtimes.map((runtime) => runtime.close()))
  }
}

/** A tool without parameters, unless it is given some. */
export function tool(name: string, handler: Handler, parameters: JsonSchema = {}): Tool {
  const schema = { type: 'object', properties: {}, ...parameters }
  return { name, description: `The tool ${name} of the conformance suite.`, parameters: schema, handler }
}

/** A tool that any runtime can run. */
export const ping = tool('ping', () => 'pong')
