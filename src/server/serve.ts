import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import { NO_KEY } from '../app/connections/connections.ts'
import type { Installation } from '../app/installation.ts'
import { pause } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { Upkeep } from '../knowledge/collections/upkeep.ts'
import { approvals } from '../operations/approvals.ts'
import { compileValidator, validationError } from '../operations/check-input.ts'
import { costs } from '../operations/costs.ts'
import { operationList } from '../operations/groups.ts'
import { keys } from '../operations/keys.ts'
import { limits } from '../operations/limits.ts'
import { metrics } from '../operations/metrics.ts'
import { objectives } from '../operations/objectives.ts'
import { ratings } from '../operations/ratings.ts'
import { tenants } from '../operations/tenants.ts'
import { threads } from '../operations/threads.ts'
import { users } from '../operations/users.ts'
import { rollouts, versions } from '../operations/versions.ts'
import { views } from '../operations/views.ts'
import type { Prometheus } from '../telemetry/prometheus.ts'
import { SUITES } from '../validation/suites/suite.ts'
import { aiSdkRoutes } from './ai-sdk/ai-sdk-routes.ts'
import { chatRoutes } from './chat/chat-routes.ts'
import { durableRunRoutes } from './chat/durable-run-routes.ts'
import { Authenticator, isLoopbackAddress, type LocalAccess } from './http/authenticator.ts'
import { limitConnections, limitUnanswered } from './http/client-address.ts'
import { Traffic } from './http/context.ts'
import { Streams } from './http/event-stream.ts'
import { addHooks, parseJsonBodies } from './http/hooks.ts'
import { operationRoutes } from './http/operation-routes.ts'
import { answerClientError, answerProblem } from './http/problem.ts'
import { checkRequests } from './http/request-target.ts'
import { corsHeaders, SECURITY_HEADERS } from './http/response-headers.ts'
import { jobRoutes } from './jobs/job-routes.ts'
import type { Task, TaskName } from './jobs/job-run.ts'
import { Jobs } from './jobs/jobs.ts'
import { webhookTasks } from './jobs/webhooks.ts'
import { answerOpenAiError } from './openai/openai-error.ts'
import { openAiRoutes } from './openai/openai-routes.ts'
import { connectionRoutes } from './routes/connection-routes.ts'
import { executeRoute } from './routes/execute-route.ts'
import { historyRoutes } from './routes/history-routes.ts'
import { McpEndpoint, mcpRoutes } from './routes/mcp-routes.ts'
import { mcpServerRoutes } from './routes/mcp-server-routes.ts'
import { prometheusRoutes, statusRoutes } from './routes/metrics-routes.ts'
import { packageRoutes } from './routes/package-routes.ts'
import { collectOpenApi, guideRoutes, openApiRoutes, pageRoutes } from './routes/page-routes.ts'
import { auditRoutes, runRoutes } from './routes/record-routes.ts'
import { reportRoutes } from './routes/report-routes.ts'
import { setupRoutes } from './routes/setup-routes.ts'
import { oidcRoutes, sessionRoutes } from './routes/sign-in-routes.ts'
import { pageToolsRoutes, searchRoute, toolRoutes } from './routes/tool-routes.ts'
import { modelRoutes, suiteRoutes, validationRoutes } from './suites/model-routes.ts'
import { savedSuiteRoutes } from './suites/saved-suites.ts'
import { suiteTask } from './suites/suite-runs.ts'

const ROUTES: readonly ((app: FastifyInstance) => void)[] = [
  executeRoute,
  toolRoutes,
  searchRoute,
  pageToolsRoutes,
  jobRoutes,
  chatRoutes,
  openAiRoutes,
  aiSdkRoutes,
  operationRoutes(approvals.operations),
  runRoutes,
  durableRunRoutes,
  modelRoutes,
  validationRoutes,
  suiteRoutes,
  savedSuiteRoutes,
  mcpRoutes,
  mcpServerRoutes,
  packageRoutes,
  setupRoutes,
  operationRoutes({ ...limits.operations, ...metrics.operations, ...costs.operations }),
  prometheusRoutes,
  auditRoutes,
  historyRoutes,
  operationRoutes(threads.operations),
  operationRoutes(ratings.operations),
  operationRoutes(views.operations),
  operationRoutes(keys.operations),
  operationRoutes(users.operations),
  operationRoutes(tenants.operations),
  sessionRoutes,
  oidcRoutes,
  connectionRoutes,
  statusRoutes,
  operationRoutes({ ...versions.operations, ...rollouts.operations }),
  operationRoutes(objectives.operations),
  reportRoutes,
  operationRoutes(operationList.operations),
]

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
const KEEP_ALIVE_TIMEOUT_MS = 72_000
const TIMEOUT_CHECK_MS = 1_000
const DRAIN_MS = 5_000
const SHUTDOWN_TIMEOUT_MS = 10_000
const IDLE_CHECK_MS = 20
/** How long clients have to read their last responses during a shutdown. */
const LAST_RESPONSES_TIMEOUT_MS = 1_000
const MAX_BODY_BYTES = 1024 * 1024
const MAX_PARAM_LENGTH = 256

interface AppOptions {
  readonly prometheus: Prometheus
  /** The version of this package. */
  readonly version: string
  /** Whether requests need no key. Only for servers bound to a loopback address. Default: `never`. */
  readonly local?: LocalAccess
  /** The folder of the built web UI. */
  readonly page?: string
}

export interface ServeOptions extends Pick<AppOptions, 'prometheus' | 'version'> {
  readonly installation: Installation
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Accept requests without a key from this machine, even if there are keys. */
  readonly insecureLocal?: boolean
}

/** A listening server. */
interface HttpService {
  readonly url: string
  /**
   * Shuts the server down gracefully; the installation stays open. With `drain`, load balancers first get
   * `server.drain_ms` to notice it.
   */
  close(options?: { readonly drain?: boolean }): Promise<void>
}

/** The server could not start. The message says what to do. */
export class ServeError extends Error {
  override readonly name = 'ServeError'
}

/** Serves an installation over HTTP. Without API keys the server listens on a loopback address only. */
export async function serve(options: ServeOptions): Promise<HttpService> {
  const { installation, host, port, insecureLocal, ...rest } = options
  const { callers, log, clock } = installation
  const local = insecureLocal ? 'always' : callers.keyed ? 'never' : 'until-first-key'
  if (local !== 'never' && !isLoopbackAddress(host)) {
    const problem = insecureLocal ? 'With --insecure-local' : 'Without API keys'
    const fix = insecureLocal
      ? 'Leave it out'
      : 'Create a key with "npx toolyard keys create", or set TOOLYARD_ADMIN_KEY'
    throw new ServeError(`${problem} the server can only listen on a loopback address, not on '${host}'. ${fix}`)
  }
  const { auth, server } = installation.config
  if (auth?.oidc !== undefined && server?.public_url === undefined && !isLoopbackAddress(host)) {
    throw new ServeError('auth.oidc needs server.public_url, the address of this server for clients')
  }
  if (Object.keys(installation.config.connections ?? {}).length > 0 && installation.seal.keyId === undefined) {
    throw new ServeError(NO_KEY)
  }
  const app = await createApp(installation, { local, ...rest })
  try {
    await app.listen({ host, port })
  } catch (error) {
    await closeGracefully(app, 0)
    throw listenError(error as NodeJS.ErrnoException, host, port)
  }
  installation.recordConfig()
  if (insecureLocal) log.warn({ host }, '--insecure-local: requests from this machine need no API key')
  else if (local !== 'never') log.warn({ host }, 'There are no API keys: requests from this machine need none')
  const upkeep = new Upkeep({ collections: () => installation.manager.getCollections(), clock, log })
  const stopListening = installation.onReload(() => upkeep.again())
  const close = async (drain: boolean) => {
    stopListening()
    const upkeepEnded = upkeep.end()
    const { drain_ms = DRAIN_MS, shutdown_ms = SHUTDOWN_TIMEOUT_MS } = installation.config.server ?? {}
    if (drain) {
      app.traffic.drain()
      await pause(drain_ms, clock)
    }
    await closeGracefully(app, shutdown_ms)
    await upkeepEnded
  }
  let closed: Promise<void> | undefined
  return {
    url: urlOf(app.server.address() as AddressInfo),
    close({ drain = false } = {}) {
      closed ??= close(drain)
      return closed
    },
  }
}

const urlOf = ({ address, port, family }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`

function listenError(error: NodeJS.ErrnoException, host: string, port: number): unknown {
  if (error.code === 'EADDRINUSE') {
    return new ServeError(`Port ${port} is already in use. Choose another port, or 0 for any free one`)
  }
  if (error.code === 'EACCES') {
    return new ServeError(`This user may not listen on port ${port}. Choose a port above 1023`)
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new ServeError(`This machine has no address '${host}'`)
  }
  return error
}

/** Creates the Fastify app of an installation, with all routes. It doesn't listen yet. */
export async function createApp(installation: Installation, options: AppOptions): Promise<FastifyInstance> {
  const { version, prometheus, local = 'never', page } = options
  const app = fastify({
    logger: false,
    bodyLimit: installation.config.limits?.body_bytes ?? MAX_BODY_BYTES,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these requests.
      reply.headers({ ...SECURITY_HEADERS, ...corsHeaders(installation, request.headers) })
      answerProblem(installation, error, request, reply)
    },
    serverFactory: (listener) => httpServer(limitUnanswered(checkRequests(listener)), installation),
  })
  const tasks = new Map<TaskName, Task>([[SUITES, suiteTask(installation)], ...webhookTasks(installation)])
  app.decorate('installation', installation)
  app.decorate('packageVersion', version)
  app.decorate('prometheus', prometheus)
  app.decorate('traffic', new Traffic(installation.callers))
  app.decorate('authenticator', new Authenticator(installation, local))
  app.decorate('streams', new Streams(installation))
  app.decorate('jobs', new Jobs({ installation, queue: await installation.openJobQueue(), tasks }))
  app.decorate('mcp', new McpEndpoint(installation, version))
  app.decorateRequest('caller')
  const stopListening = installation.callers.onEnd((ids, why) => endCallers(app, ids, why === 'narrowed'))
  app.addHook('onClose', async () => stopListening())
  addGauges(app)
  parseJsonBodies(app)
  app.setValidatorCompiler(compileValidator)
  app.setSchemaErrorFormatter(validationError)
  // Response schemas are documentation only: they remove nothing from a response.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler<Error>((error, request, reply) => {
    // Unknown paths, too, answer OpenAI clients in their format.
    const answer = /^\/v1(?![^/?])/.test(request.url) ? answerOpenAiError : answerProblem
    return answer(installation, error, request, reply)
  })
  addHooks(app)
  await collectOpenApi(app, version)
  for (const addRoutes of ROUTES) addRoutes(app)
  await app.register(openApiRoutes)
  await app.register(guideRoutes, { prefix: '/guide' })
  await app.register((routes) => pageRoutes(routes, page))
  await app.jobs.work()
  installation.durableRuns.work()
  installation.rollouts.watch()
  installation.objectives.watch()
  return app
}

/** Ends everything that runs for revoked and expired keys: calls, durable runs, streams, MCP sessions and jobs. */
function endCallers(app: FastifyInstance, ids: ReadonlySet<string>, isNarrowed: boolean): void {
  const { installation, traffic, streams, mcp, jobs } = app
  traffic.cancelCalls(ids)
  const error = isNarrowed ? 'The rights of the API key have changed' : 'The API key was revoked or has expired'
  streams.end('key-ended', { error }, ids)
  mcp.endCallers(ids)
  void jobs.endCallers(ids, isNarrowed)
  void installation.durableRuns.endCallers(ids, isNarrowed)
}

/** HTTP server with header, request and idle timeouts, and a limit of connections. */
function httpServer(listener: RequestListener, installation: Installation): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    listener,
  )
  limitConnections(server, installation)
  return server
}

const CIRCUIT = { closed: 0, half_open: 0.5, open: 1 } as const

/** Adds the state of this server to the Prometheus metrics of the installation. */
function addGauges({ prometheus, installation, streams, traffic }: FastifyInstance): void {
  const { sink, storage, budgets } = installation
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    prometheus.gauge({ name: `toolyard_${name}`, help, read })
  gauge(
    'audit_dropped_records',
    'Audit records dropped since the start because the buffer was full.',
    () => sink.dropped,
  )
  gauge('budget_refusals', 'Calls and turns refused by budgets since the start.', () => budgets.refusals)
  gauge('budget_warnings', 'Calls and turns over a budget that only warns, since the start.', () => budgets.warnings)
  gauge('store_ready', 'Whether the store can be used.', async () => ((await storage.status()).ready ? 1 : 0))
  const servers = () => installation.manager.getMcpServers()
  gauge('mcp_servers', 'Configured MCP servers.', () => servers().names.length)
  gauge(
    'mcp_servers_connected',
    'Connected MCP servers.',
    () => servers().names.filter((name) => servers().connection(name).connected).length,
  )
  gauge('open_streams', 'Open event streams.', () => streams.size)
  gauge('running_calls', 'Running tool calls of requests.', () => traffic.calls.size)
  prometheus.labelledGauge({
    name: 'toolyard_tool_circuit_open',
    help: 'The circuit breaker of a tool: 1 open, 0.5 half open, 0 closed.',
    labels: ['tool'],
    read: async () =>
      [...installation.manager.getExecutor().circuits()].map(([tool, { state }]) => [{ tool }, CIRCUIT[state]]),
  })
  addObjectiveGauges(prometheus, installation.objectives)
}

/** All servers report what the last evaluation by any of them found. */
function addObjectiveGauges(prometheus: Prometheus, objectives: Installation['objectives']): void {
  const isIdle = () => objectives.targets.length === 0
  const reports = async () => (isIdle() ? [] : (await objectives.state()).reports)
  prometheus.labelledGauge({
    name: 'toolyard_objective_error_budget_left',
    help: 'The share of the error budget of an objective that is left; negative if the target is missed.',
    labels: ['objective'],
    read: async () => (await reports()).map(({ id, error_budget_left }) => [{ objective: id }, error_budget_left]),
  })
  prometheus.labelledGauge({
    name: 'toolyard_objective_burn_rate',
    help: 'How many times as fast as planned the error budget of an objective is used up.',
    labels: ['objective', 'window'],
    read: async () =>
      (await reports()).flatMap(({ id, burn_rates }) =>
        Object.entries(burn_rates).map(([window, rate]) => [{ objective: id, window }, rate ?? 0] as const),
      ),
  })
  prometheus.labelledGauge({
    name: 'toolyard_objective_alert_open',
    help: 'Open alerts of objectives.',
    labels: ['objective', 'severity'],
    read: async () =>
      isIdle()
        ? []
        : (await objectives.state()).alerts
            .filter(({ resolved_at }) => resolved_at === null)
            .map(({ objective, severity }) => [{ objective, severity }, 1] as const),
  })
}

/**
 * Shuts a server down. It accepts no new requests, waits for running ones, cancels them after `limitMs`, and ends each
 * stream with a last event. All answered calls are recorded when this settles. The installation stays open.
 */
export async function closeGracefully(app: FastifyInstance, limitMs: number): Promise<void> {
  const { traffic, streams, mcp, jobs, installation, server } = app
  const { clock } = installation
  const ended = new Promise<void>((resolve) => server.close(() => resolve()))
  traffic.drain()
  const jobsEnded = jobs.close(limitMs)
  await untilIdle(clock, limitMs, () => {
    // A kept-alive connection would keep the server open.
    server.closeIdleConnections()
    return !traffic.busy && !mcp.busy && streams.size === 0
  })
  traffic.cancelCalls()
  streams.end('shutdown', { error: 'The server is shutting down: try again in a moment' })
  await mcp.close()
  await untilIdle(clock, LAST_RESPONSES_TIMEOUT_MS, () => {
    server.closeIdleConnections()
    return !traffic.busy && streams.size === 0
  })
  server.closeAllConnections()
  await Promise.all([ended, jobsEnded])
  await app.close()
  await installation.settle()
}

async function untilIdle(clock: Clock, limitMs: number, isIdle: () => boolean): Promise<void> {
  const end = clock.now() + limitMs
  while (!isIdle() && clock.now() < end) {
    await pause(IDLE_CHECK_MS, clock)
  }
}
