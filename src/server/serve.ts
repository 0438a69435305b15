import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import type { Installation } from '../config/installation.ts'
import type { Clock } from '../core/clock.ts'
import { DeepJsonError, isDeep } from '../core/json-depth.ts'
import { LIMITS } from '../core/snapshot.ts'
import { Upkeep } from '../knowledge/collections/upkeep.ts'
import type { Prometheus } from '../telemetry/prometheus.ts'
import { chatRoutes } from './chat/chat-routes.ts'
import { runRoutes } from './chat/run-routes.ts'
import { Gate, isLoopbackAddress } from './http/authenticator.ts'
import { settleRecords, Traffic } from './http/context.ts'
import { Streams } from './http/event-stream.ts'
import { guardRoutes, type KnownRoutes } from './http/hooks.ts'
import { answerClientError, answerProblem, compileValidator, validationError } from './http/problem.ts'
import { corsHeaders, SECURITY_HEADERS } from './http/response-headers.ts'
import type { Service } from './http/service.ts'
import { jobRoutes } from './jobs/job-routes.ts'
import { Jobs } from './jobs/jobs.ts'
import { openAiRoutes } from './openai/openai-routes.ts'
import { auditRoutes } from './routes/audit-routes.ts'
import { executeRoute } from './routes/execute-route.ts'
import { keyRoutes, tenantRoutes } from './routes/key-routes.ts'
import { limitRoutes } from './routes/limit-routes.ts'
import { McpDoors, mcpRoutes, mcpServerRoutes } from './routes/mcp-routes.ts'
import { metricsRoutes, prometheusRoutes } from './routes/metrics-routes.ts'
import { modelRoutes, validationRoutes } from './routes/model-routes.ts'
import { collectOpenApi, openApiRoutes } from './routes/openapi.ts'
import { pageRoutes } from './routes/page-routes.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { statusRoutes } from './routes/status-routes.ts'
import { pageToolsRoutes, toolRoutes } from './routes/tool-routes.ts'
import { suiteRoutes } from './suites/suite-routes.ts'
import { SUITES, suiteTask } from './suites/suite-runs.ts'

/** Adds routes to the server. */
type AddRoutes = (app: FastifyInstance, service: Service) => void

/** The routes of the API. */
const ROUTES: readonly AddRoutes[] = [
  executeRoute,
  toolRoutes,
  pageToolsRoutes,
  jobRoutes,
  chatRoutes,
  openAiRoutes,
  runRoutes,
  modelRoutes,
  validationRoutes,
  suiteRoutes,
  mcpRoutes,
  mcpServerRoutes,
  limitRoutes,
  metricsRoutes,
  prometheusRoutes,
  auditRoutes,
  keyRoutes,
  tenantRoutes,
  statusRoutes,
]

declare module 'fastify' {
  interface FastifyInstance {
    readonly service: Service
    readonly knownRoutes: KnownRoutes
  }
}

interface AppOptions {
  readonly prometheus: Prometheus
  /** Of this package. */
  readonly version: string
  /** Whether requests without a key are answered as long as there are no keys. Only for servers bound to this machine. */
  readonly local?: boolean
  /** The folder with the built page; by default the one that the set-up builds. */
  readonly page?: string
}

const BODY_BYTES = 1024 * 1024
const MAX_PARAM_LENGTH = 256
const JSON_TYPES = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/

/** The HTTP server of an installation, with all its routes; it does not listen yet. */
export async function createApp(installation: Installation, options: AppOptions): Promise<FastifyInstance> {
  const { version, prometheus, local = false } = options
  const gate = new Gate(installation, local)
  const service: Service = {
    installation,
    version,
    prometheus,
    streams: new Streams(installation.clock),
    jobs: await openJobs(installation),
    mcp: new McpDoors(installation, version),
    traffic: new Traffic(),
  }
  const app = fastify({
    logger: false,
    bodyLimit: installation.config.limits?.body_bytes ?? BODY_BYTES,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these requests.
      reply.headers({ ...SECURITY_HEADERS, ...corsHeaders(installation, request.headers) })
      answerProblem(installation, error, request, reply)
    },
    serverFactory: httpServer,
  })
  addGauges(service)
  app.decorate('service', service)
  app.decorateRequest('caller')
  parseJsonBodies(app)
  app.setValidatorCompiler(compileValidator)
  app.setSchemaErrorFormatter(validationError)
  // The schemas of answers are for the documentation: nothing is left out of an answer because of them.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler<Error>((error, request, reply) => answerProblem(installation, error, request, reply))
  guardRoutes(app, gate)
  await collectOpenApi(app, version)
  for (const addRoutes of ROUTES) addRoutes(app, service)
  sessionRoutes(app, service, gate)
  await app.register(openApiRoutes)
  await app.register((routes) => pageRoutes(routes, options.page))
  await service.jobs.work()
  return app
}

/** Fastify's JSON parser, behind the depth check. */
function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(JSON_TYPES, { parseAs: 'string' }, (request, text, done) => {
    if (isDeep(text, LIMITS.bodyDepth)) done(new DeepJsonError(LIMITS.bodyDepth))
    else parse(request, text, done)
  })
}

/** How often it is looked whether everything has been answered. */
const LOOK_MS = 20
/** How long the last answers may take to be taken. */
const LAST_ANSWERS_MS = 1_000
const LAST_EVENT = { error: 'The server is shutting down: ask again in a moment' }

/**
 * Ends a server: it takes nothing new; what runs may end within the limit, and is called off after it; streams get a
 * last event. When this settles, everything that was answered is on record. The installation stays open.
 */
export async function closeGracefully(app: FastifyInstance, limitMs: number): Promise<void> {
  const { traffic, streams, mcp, jobs, installation } = app.service
  const { clock } = installation
  const ended = new Promise<void>((resolve) => app.server.close(() => resolve()))
  traffic.drain()
  const jobsEnded = jobs.close(limitMs)
  await untilIdle(clock, limitMs, () => {
    // A connection that is kept alive would keep the server alive, too.
    app.server.closeIdleConnections()
    return !traffic.busy && !mcp.busy && streams.size === 0
  })
  traffic.cancelCalls()
  streams.endAll('shutdown', LAST_EVENT)
  await mcp.close()
  await untilIdle(clock, LAST_ANSWERS_MS, () => {
    app.server.closeIdleConnections()
    return !traffic.busy && streams.size === 0
  })
  app.server.closeAllConnections()
  await Promise.all([ended, jobsEnded])
  await app.close()
  await settleRecords(installation)
}

async function untilIdle(clock: Clock, limitMs: number, isIdle: () => boolean): Promise<void> {
  const end = clock.now() + limitMs
  while (!isIdle() && clock.now() < end) {
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve))
  }
}

const OPEN = { closed: 0, half_open: 0.5, open: 1 } as const

/** Shows the state of the server among the Prometheus figures of the whole installation. */
export function addGauges({ prometheus, installation, streams, traffic }: Service): void {
  const { sink, storage } = installation
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    prometheus.gauge({ name: `toolyard_${name}`, help, read })
  gauge('audit_dropped_records', 'Records that were lost for want of room since the start.', () => sink.dropped)
  gauge('store_ready', 'Whether the store can be used.', async () => ((await storage.status()).ready ? 1 : 0))
  gauge('open_streams', 'Streams of events that are open.', () => streams.size)
  gauge('running_calls', 'Tool calls of requests that are running.', () => traffic.calls.size)
  prometheus.toolGauge({
    name: 'toolyard_tool_circuit_open',
    help: 'Whether the service behind a tool is left alone because it failed: 1, or 0.5 while it is tried again.',
    *read() {
      for (const [tool, { state }] of installation.manager.getExecutor().circuits()) yield [tool, OPEN[state]]
    },
  })
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
const KEEP_ALIVE_TIMEOUT_MS = 72_000
const CHECK_INTERVAL_MS = 1_000
const MAX_CONNECTIONS = 10_000

/** HTTP server with header, request and idle timeouts. */
export function httpServer(listener: RequestListener): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    },
    listener,
  )
  server.maxConnections = MAX_CONNECTIONS
  return server
}

/** Why a server cannot be started, in a sentence that says what to do. */
export class ServeError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ServeError'
  }
}

export interface ServeOptions {
  readonly installation: Installation
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  readonly prometheus: Prometheus
  /** Of this package. */
  readonly version: string
}

/** A server that listens. */
export interface HttpService {
  readonly url: string
  /** Ends it, running calls first; the installation stays open. */
  close(): Promise<void>
}

const SHUTDOWN_MS = 10_000

/** Serves an installation over HTTP. Where there are no keys, only to this machine. */
export async function serve({ installation, host, port, ...rest }: ServeOptions): Promise<HttpService> {
  const { callers, log } = installation
  const local = callers.size === 0
  if (local && !isLoopbackAddress(host)) throw unguarded(host)
  const app = await createApp(installation, { local, ...rest })
  try {
    await app.listen({ host, port })
  } catch (error) {
    await closeGracefully(app, 0)
    throw refused(error as NodeJS.ErrnoException, host, port)
  }
  if (local) log.warn({ host }, 'There are no API keys: requests from this machine are answered without one')
  const upkeep = new Upkeep({
    collections: () => installation.manager.getCollections(),
    clock: installation.clock,
    log,
  })
  const stopListening = installation.onReload(() => upkeep.again())
  let closed: Promise<void> | undefined
  const close = async () => {
    stopListening()
    const upkeepEnded = upkeep.end()
    await closeGracefully(app, installation.config.server?.shutdown_ms ?? SHUTDOWN_MS)
    await upkeepEnded
  }
  return {
    url: urlOf(app.server.address() as AddressInfo),
    close() {
      closed ??= close()
      return closed
    },
  }
}

const urlOf = ({ address, port, family }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`

const unguarded = (host: string): ServeError =>
  new ServeError(
    `Without API keys the server can be bound to this machine only, not to '${host}': make a key first, with "npx toolyard keys create"`,
  )

function refused(error: NodeJS.ErrnoException, host: string, port: number): unknown {
  if (error.code === 'EADDRINUSE') return new ServeError(`Port ${port} is taken: name another, or 0 for any`)
  if (error.code === 'EACCES') return new ServeError(`Port ${port} may not be used by this user: name one above 1023`)
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new ServeError(`This machine has no address '${host}' to listen at`)
  }
  return error
}

/** The jobs of an installation. */
export async function openJobs(installation: Installation): Promise<Jobs> {
  const tasks = new Map([[SUITES, suiteTask(installation)]])
  return new Jobs({ installation, queue: await installation.openJobQueue(), tasks })
}
