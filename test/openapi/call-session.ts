import { silentLog, type ToolDefinition, ToolManager } from '../../src/index.ts'
import type { HttpImplementation } from '../../src/kinds/http/definition/http-implementation.ts'
import { FAKE } from './check-credentials.ts'
import { RecordingServer } from './recording-server.ts'

const NAME = 'called'

/** A Toolyard with one tool at a time, and the server that it calls. */
export class CallSession {
  readonly server: RecordingServer
  readonly #manager: ToolManager
  readonly #env: Record<string, string>

  private constructor(server: RecordingServer, manager: ToolManager, env: Record<string, string>) {
    this.server = server
    this.#manager = manager
    this.#env = env
  }

  static async start(): Promise<CallSession> {
    const env: Record<string, string> = {}
    const config = { tools: { enabled: true, registry: [] }, http: { allow_private: ['127.0.0.1/32'] } }
    const manager = new ToolManager(config, { log: silentLog, env })
    await manager.loadTools()
    return new CallSession(await RecordingServer.start(), manager, env)
  }

  /** Takes the tool in, with a value for each of its variables; tokens are asked for on this machine. */
  use(tool: ToolDefinition): void {
    const { auth, ...rest } = tool.implementation as HttpImplementation
    const own = auth?.type === 'oauth2' ? { ...auth, token_url: this.server.tokenUrl } : auth
    for (const [, variable = ''] of JSON.stringify(rest)
      .concat(JSON.stringify(auth ?? {}))
      .matchAll(/\$\{(\w+)\}/g)) {
      this.#env[variable] = `${FAKE}${variable}`
    }
    this.#manager
      .getRegistry()
      .register({ ...tool, name: NAME, implementation: { ...rest, ...(own && { auth: own }) } })
  }

  /** What the executor says against parameters. */
  async problems(params: unknown): Promise<readonly string[]> {
    const { valid, errors } = await this.#manager.getExecutor().validate(NAME, params)
    return valid ? [] : errors.length > 0 ? errors : ['they are not valid']
  }

  /** Calls the tool; says what went wrong, or nothing. */
  async call(params: unknown): Promise<string | undefined> {
    const result = await this.#manager.getExecutor().execute(NAME, params)
    return result.success ? undefined : `${result.error_code}: ${result.error}`
  }

  async close(): Promise<void> {
    await this.#manager.close()
    await this.server.close()
  }
}
