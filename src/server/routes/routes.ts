import type { FastifyInstance } from 'fastify'
import { pageToolsRoutes } from '../page/page-tools-routes.ts'
import type { Service } from '../service.ts'
import { auditRoutes } from './audit-routes.ts'
import { chatRoutes } from './chat-routes.ts'
import { executeRoute } from './execute-route.ts'
import { jobRoutes } from './job-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { limitRoutes } from './limit-routes.ts'
import { mcpRoutes } from './mcp-routes.ts'
import { mcpServerRoutes } from './mcp-server-routes.ts'
import { metricsRoutes } from './metrics-routes.ts'
import { modelRoutes } from './model-routes.ts'
import { openAiRoutes } from './openai-routes.ts'
import { prometheusRoutes } from './prometheus-routes.ts'
import { runRoutes } from './run-routes.ts'
import { statusRoutes } from './status-routes.ts'
import { suiteRoutes } from './suite-routes.ts'
import { tenantRoutes } from './tenant-routes.ts'
import { toolRoutes } from './tool-routes.ts'
import { validationRoutes } from './validation-routes.ts'

/** Adds routes to the server. */
export type AddRoutes = (app: FastifyInstance, service: Service) => void

/** The routes of the API. */
export const ROUTES: readonly AddRoutes[] = [
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
