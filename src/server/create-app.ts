import { type FastifyInstance, fastify } from 'fastify'
import type { Installation } from '../config/installation.ts'
import { DeepJsonError, isDeep } from '../core/json-depth.ts'
import { LIMITS } from '../core/snapshot.ts'
import type { Prometheus } from '../telemetry/prometheus.ts'
import { addGauges } from './add-gauges.ts'
import { answerClientError } from './answer-client-error.ts'
import { answerProblem } from './answer-problem.ts'
import { corsHeaders } from './cors.ts'
import { Gate } from './gate.ts'
import { guardRoutes } from './guard-routes.ts'
import { httpServer } from './http-server.ts'
import type { KnownRoutes } from './known-routes.ts'
import { McpDoors } from './mcp-doors.ts'
import { openJobs } from './open-jobs.ts'
import { collectOpenApi, openApiRoutes } from './openapi.ts'
import { pageRoutes } from './page/page-routes.ts'
import { sessionRoutes } from './page/session-routes.ts'
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
