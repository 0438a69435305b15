import { type FastifyInstance, fastify } from 'fastify'
import type { Installation } from '../config/installation.ts'
import { isDeep } from '../core/json-depth.ts'
import { LIMITS } from '../core/snapshot.ts'
import type { Prometheus } from '../telemetry/prometheus.ts'
import { addGauges } from './add-gauges.ts'
import { answerClientError } from './answer-client-error.ts'
import { answerProblem } from './answer-problem.ts'
import { preflightHeaders } from './cors.ts'
import { ToolCallDoor } from './execute/tool-call-door.ts'
import { Gate } from './gate.ts'
import { guardRoutes } from './guard-routes.ts'
import { HttpProblem } from './http-problem.ts'
import { httpServer } from './http-server.ts'
import { KnownRoutes } from './known-routes.ts'
import { McpDoors } from './mcp-doors.ts'
import { openJobs } from './open-jobs.ts'
import { collectOpenApi, openApiRoutes } from './openapi.ts'
import { pageRoutes } from './page/page-routes.ts'
import { sessionRoutes } from './page/session-routes.ts'
import { executeRoute } from './routes/execute-route.ts'
import { ROUTES } from './routes/routes.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import type { Service } from './service.ts'
import { Streams } from './streams.ts'
import { Traffic } from './traffic.ts'
import { compileValidator, validationError } from './validate-request.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly service: Service
    readonly knownRoutes: KnownRoutes
  }
}

export interface AppOptions {
  readonly prometheus: Prometheus
  /** Of this package. */
  readonly version: string
  /** Whether requests without a key are answered as long as there are no keys. Only for servers bound to this machine. */
  readonly local?: boolean
  /** The folder with the built page; by default the one that the set-up builds. */
  readonly page?: string
}

const BODY_BYTES = 1024 * 1024
const LONGEST_PARAM = 256

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
  const door = new ToolCallDoor(service, gate)
  const app = fastify({
    logger: false,
    bodyLimit: installation.config.limits?.body_bytes ?? BODY_BYTES,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: LONGEST_PARAM },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => void answerProblem(installation, error, request, reply),
    serverFactory: (handler) =>
      httpServer((request, response) => {
        if (request.url === '/tools/execute' && request.method === 'POST') door.handle(request, response)
        else handler(request, response)
      }),
  })
  addGauges(service)
  app.decorate('service', service)
  app.decorateRequest('caller')
  app.removeContentTypeParser('text/plain')
  parseJsonBodies(app)
  app.setValidatorCompiler(compileValidator)
  app.setSchemaErrorFormatter(validationError)
  // The schemas of answers are for the documentation: nothing is left out of an answer because of them.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler<Error>((error, request, reply) => answerProblem(installation, error, request, reply))
  answerUnknownPaths(app, gate)
  await collectOpenApi(app, version)
  await app.register(async (routes) => executeRoute(routes, door))
  await app.register(async (routes) => {
    routes.addHook('onRoute', ({ method, url, config }) => {
      if (config?.scope === undefined) throw new TypeError(`The route ${method} ${url} must name its scope, or null`)
    })
    guardRoutes(routes, service, gate)
    for (const addRoutes of ROUTES) addRoutes(routes, service)
    sessionRoutes(routes, service, gate)
  })
  await app.register(async (routes) => {
    guardRoutes(routes, service, gate)
    await openApiRoutes(routes)
  })
  await app.register(async (routes) => {
    guardRoutes(routes, service, gate)
    await pageRoutes(routes, options.page)
  })
  await service.jobs.work()
  return app
}

/** Fastify's own parser of JSON, behind the check of the depth. */
function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (isDeep(text, LIMITS.bodyDepth)) done(deepBody())
    else parse(request, text, done)
  })
}

const deepBody = (): HttpProblem =>
  new HttpProblem(400, 'The body is nested too deeply', `it may have at most ${LIMITS.bodyDepth} levels`)

/** A path that there is not, a method that a path does not take, and browsers that ask beforehand. */
function answerUnknownPaths(app: FastifyInstance, gate: Gate): void {
  const { installation } = app.service
  const routes = new KnownRoutes()
  app.decorate('knownRoutes', routes)
  app.addHook('onRoute', (route) => routes.add(route))
  // A hook, because the handler would run after the body has been parsed.
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return undefined
    gate.checkOrigin(request.headers)
    const preflight = request.method === 'OPTIONS' && preflightHeaders(installation, request.headers)
    if (preflight)
      return reply
        .headers({ ...SECURITY_HEADERS, ...preflight })
        .code(204)
        .send()
    const allowed = routes.methodsOf(request.url.split('?', 1)[0] as string)
    if (allowed.length === 0 || allowed.includes(request.method))
      throw new HttpProblem(404, 'There is nothing at this path', 'GET /docs shows what there is')
    const allow = allowed.join(', ')
    throw new HttpProblem(405, `${request.method} is not possible here`, `this path takes ${allow}`, { allow })
  })
}
