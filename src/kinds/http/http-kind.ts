import { NO_ACCOUNTS } from '../../core/call-context.ts'
import { type Environment, splitAtVariables, variableIn } from '../../core/environment.ts'
import type { CircuitState, Handler, Identity, Kind } from '../../core/handler.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { HTTP_IMPLEMENTATION_SCHEMA, type HttpImplementation } from './definition/http-implementation.ts'
import type { HttpClient, HttpParts, HttpTool } from './http-tool.ts'
import { NetworkRules } from './network/network-rules.ts'
import { withoutSecrets } from './request/expand-implementation.ts'
import { effectOf, expandedUrl, problemOf, reachFault, warningOf } from './request/http-problem-of.ts'

interface Loaded {
  readonly client: HttpClient
  make(tool: ToolDefinition): HttpTool
}

/** The HTTP tools of an installation. The first call loads the HTTP client, which takes 100 ms. */
export class HttpKind implements Kind {
  readonly runsProgram = false
  readonly schema = HTTP_IMPLEMENTATION_SCHEMA
  readonly #parts: HttpParts
  readonly #tools = new WeakMap<ToolDefinition, HttpTool>()
  readonly #variables = new WeakMap<ToolDefinition, Environment>()
  #rules: NetworkRules | undefined
  #loaded: Promise<Loaded> | undefined
  #closed = false

  constructor(parts: HttpParts) {
    this.#parts = parts
  }

  effect(tool: ToolDefinition): Effect {
    return effectOf(httpOf(tool).method)
  }

  problem(tool: ToolDefinition): string | undefined {
    return problemOf(tool)
  }

  fault(tool: ToolDefinition): string | undefined {
    const { env, settings } = this.#parts
    this.#rules ??= new NetworkRules(settings)
    return reachFault(httpOf(tool), env, this.#rules) ?? this.#accountFault(httpOf(tool))
  }

  account(tool: ToolDefinition): string | undefined {
    const { auth } = httpOf(tool)
    return auth?.type === 'user_oauth' ? auth.provider : undefined
  }

  #accountFault({ auth, url }: HttpImplementation): string | undefined {
    if (auth?.type !== 'user_oauth') return undefined
    const { accounts, env } = this.#parts
    return accounts === undefined ? NO_ACCOUNTS : accounts.problem(auth.provider, expandedUrl(url, env))
  }

  warning(tool: ToolDefinition): string | undefined {
    return warningOf(tool, this.#parts.env)
  }

  retry(tool: ToolDefinition): ToolDefinition['retry'] {
    return httpOf(tool).retry
  }

  identity(tool: ToolDefinition): Identity {
    return { implementation: withoutSecrets(httpOf(tool), this.#variablesOf(tool)) }
  }

  /** Those of the first call, when all are set: what a person approves must be what runs, whatever the environment is later. */
  #variablesOf(tool: ToolDefinition): Environment {
    const known = this.#variables.get(tool)
    if (known !== undefined) return known
    const { url, headers, query, auth } = httpOf(tool)
    const names = splitAtVariables(JSON.stringify([url, headers, query, auth])).filter((_, at) => at % 2 === 1)
    const values = Object.fromEntries(names.map((name) => [name, variableIn(this.#parts.env, name)]))
    if (names.every((name) => values[name] !== undefined)) this.#variables.set(tool, values)
    return values
  }

  circuit(tool: ToolDefinition, tenant?: string): CircuitState | undefined {
    return this.#tools.get(tool)?.circuit(tenant)
  }

  bind(tool: ToolDefinition): () => Handler {
    const handler: Handler = (params, context) => {
      const ready = this.#tools.get(tool)
      if (ready !== undefined) return ready.call(params, context)
      return this.#ready(tool).then((first) => first.call(params, context))
    }
    return () => handler
  }

  async close(): Promise<void> {
    this.#closed = true
    await (await this.#loaded)?.client.close()
  }

  async #ready(tool: ToolDefinition): Promise<HttpTool> {
    this.#loaded ??= this.#load()
    const { make } = await this.#loaded
    const made = this.#tools.get(tool) ?? make(tool)
    this.#tools.set(tool, made)
    return made
  }

  async #load(): Promise<Loaded> {
    const { HttpClient, HttpTool } = await import('./http-tool.ts')
    const client = new HttpClient(this.#parts)
    if (this.#closed) await client.close()
    return { client, make: (tool) => new HttpTool(tool, client, this.#variablesOf(tool)) }
  }
}

const httpOf = ({ implementation }: ToolDefinition): HttpImplementation => implementation as HttpImplementation
