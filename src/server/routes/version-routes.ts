import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers/callers.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import type { RolloutStart } from '../../app/versions/rollouts.ts'
import { ROLLOUT_SCHEMA } from '../../core/tool.ts'
import { TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { found } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'

const NAME = pathParameter('name', 200)
const NUMBER = { type: ['number', 'null'] }
const INTERVAL = {
  type: ['object', 'null'],
  properties: { low: { type: 'number' }, high: { type: 'number' } },
  description: '95 % confidence; null if there are too few calls.',
}
const { current, candidate, percent, by, guard } = ROLLOUT_SCHEMA.properties

const ROLLOUT = {
  type: ['object', 'null'],
  properties: { current, candidate, percent, by, guard, started_at: TIME },
  description: 'Null if the highest version is the current one.',
}

const REPORT = object(
  {
    tool: TEXT,
    rollout: ROLLOUT,
    since: {
      ...TIME,
      description: 'The start of the comparison: the last change of the rollout, otherwise 7 days ago.',
    },
    versions: list(
      {
        version: TEXT,
        state: { enum: ['current', 'candidate', 'other'] },
        deprecated: { type: 'boolean' },
        calls: { ...COUNT, description: 'The first 20,000 calls, without refused and cancelled ones.' },
        failures: COUNT,
        success_rate: NUMBER,
        success_interval: INTERVAL,
        p50_ms: NUMBER,
        p50_interval: INTERVAL,
        p95_ms: NUMBER,
        p95_interval: INTERVAL,
        cost: NUMBER,
      },
      'The oldest first',
    ),
    comparison: {
      type: ['object', 'null'],
      properties: {
        verdict: { enum: ['not_enough_calls', 'worse', 'better', 'no_difference'] },
        sentence: TEXT,
        error_increase: INTERVAL,
        looks: COUNT,
      },
      description: 'The candidate against the current version, by a sequential test.',
    },
  },
  'The versions',
)

type Named = { Params: { name: string } }

/** The versions of a tool, and which of them callers get. */
export function versionRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { rollouts } = installation
  const checked = (name: string, caller: Caller): string => {
    const tool = usableTools(installation, caller).find((one) => one.name === name)
    return found(tool, `Tool '${name}'`, 'GET /api/tools/list lists them').name
  }
  const view = (name: string) => ({ tool: name, rollout: rollouts.of(name) ?? null })
  const answer = { 200: object({ tool: TEXT, rollout: ROLLOUT }, 'The rollout') }

  app.get<Named & { Querystring: { tenant?: string } }>(
    '/api/tools/:name/versions',
    route('observe', 'tools', 'Compares the versions of a tool', {
      params: NAME,
      querystring: exactly(TENANT_QUERY),
      response: { 200: REPORT },
    }),
    async (request) => {
      const tenant = tenantAsked(request, request.query.tenant)
      const name = checked(request.params.name, request.caller)
      await installation.settle()
      return rollouts.report(name, tenant)
    },
  )

  app.get<Named>(
    '/api/tools/:name/rollout',
    route('observe', 'tools', 'Returns which versions of a tool callers get', { params: NAME, response: answer }),
    ({ caller, params }) => view(checked(params.name, caller)),
  )

  app.put<Named & { Body: RolloutStart }>(
    '/api/tools/:name/rollout',
    route('installation', 'tools', 'Gives a part of the callers another version of a tool, or changes that part', {
      params: NAME,
      body: { ...exactly({ current, candidate, percent, by, guard }), required: ['candidate', 'percent'] },
      response: answer,
    }),
    async ({ caller, params, body }) => {
      const name = checked(params.name, caller)
      await rollouts.start(name, body, caller)
      return view(name)
    },
  )

  const actions = {
    promote: ['Makes the candidate the current version', (name: string, by: Caller) => rollouts.promote(name, by)],
    rollback: [
      'Gives all callers the current version again',
      (name: string, by: Caller) => rollouts.rollBack(name, by),
    ],
  } as const
  for (const [action, [summary, act]] of Object.entries(actions)) {
    app.post<Named>(
      `/api/tools/:name/rollout/${action}`,
      route('installation', 'tools', summary, { params: NAME, response: answer }),
      async ({ caller, params }) => {
        const name = checked(params.name, caller)
        await act(name, caller)
        return view(name)
      },
    )
  }

  app.delete<Named>(
    '/api/tools/:name/rollout',
    route('installation', 'tools', 'Forgets the rollout of a tool: the configuration counts again', {
      params: NAME,
      response: answer,
    }),
    async ({ caller, params }) => {
      const name = checked(params.name, caller)
      found((await rollouts.reset(name, caller)) || undefined, `A stored rollout of tool '${name}'`)
      return view(name)
    },
  )
}
