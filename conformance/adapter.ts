/** What a runtime has to have for a case to make sense of it; a case that needs more is not run, and is no failure. */
export type Capability = 'loop' | 'mcp-stdio' | 'mcp-http' | 'approval'

/** A runtime behind the few functions that the cases use. A module of an adapter exports one as `adapter`. */
export interface Adapter {
  readonly name: string
  /** The packages under test: the table shows their versions. */
  readonly packages: readonly string[]
  readonly can: readonly Capability[]
  /** Cases that cannot be run yet, each with the reason. */
  readonly pending?: Readonly<Record<string, string>>
  /** Starts the runtime with its own defaults, told of nothing but what is in `setup`. */
  make(setup: Setup): Promise<Runtime>
}

export interface Setup {
  readonly tools: readonly Tool[]
  readonly mcpServers: Readonly<Record<string, McpServer>>
  /** How long one call may take, set by whatever means the runtime has for it. */
  readonly deadlineMs: number
  /** Where the runtime can store runs that wait for approval. */
  readonly folder: string
}

/** A tool of the application. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** A JSON Schema of type object. */
  readonly parameters: JsonSchema
  readonly handler: Handler
  /** Where the handler can be imported from: given where it computes for long or is not trusted. */
  readonly untrusted?: { readonly module: string; readonly export: string }
  /** A call runs only after a person has approved it. */
  readonly needsApproval?: true
}

export type JsonSchema = { readonly [keyword: string]: unknown }

/** `signal` is what the runtime hands to its tools for being cancelled; undefined where it hands them nothing. */
export type Handler = (params: Record<string, unknown>, signal: AbortSignal | undefined) => unknown

/** An MCP server in the form that `mcpServers` has in most configuration files. */
export type McpServer = { readonly command: string; readonly args: readonly string[] } | { readonly url: string }

export interface Runtime {
  /** One call, as a model asks for it: `args` is the text it sends. Gives what the model is told, or rejects. */
  call(name: string, args: string, options?: RunOptions): Promise<string>
  /** A whole conversation with this model; gives its last words, or rejects. */
  run?(model: ScriptedModel, options?: RunOptions): Promise<string>
  /** A conversation that ends early if a call waits for approval. */
  begin?(model: ScriptedModel): Promise<Progress>
  /** Continues a conversation with one decision for all calls that wait. The model goes on with their results. */
  decide?(state: string, approve: boolean, model: ScriptedModel): Promise<Progress>
  /** The state with other parameters, for runtimes whose client keeps the calls and sends them back. */
  tamper?(state: string, params: object): string
  close(): Promise<void>
}

/** The last words of the model, or what the application stores until a person has decided. */
export type Progress = { readonly text: string } | { readonly state: string }

export interface RunOptions {
  readonly signal?: AbortSignal
}

/** The model of a case: answers from what its last calls came to. The first time there are none. */
export type ScriptedModel = (replies: readonly Reply[]) => Turn

/** What the model is told of one of its calls. */
export interface Reply {
  readonly id: string
  readonly text: string
}

/** Either calls or last words. */
export type Turn = { readonly calls: readonly ModelCall[] } | { readonly text: string }

export interface ModelCall {
  readonly id: string
  readonly name: string
  /** JSON text, as providers send it. */
  readonly arguments: string
}
