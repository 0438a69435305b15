import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { BudgetState } from '../../app/callers/budgets.ts'
import {
  COST_BY,
  COST_PERIODS,
  type CostRange,
  type CostReport,
  costDays,
  costReport,
  MAX_COST_ROWS,
} from '../../app/cost-report.ts'
import { BUDGET_PERIODS, BUDGET_SCOPES } from '../../core/costs.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, route, TEXT, TIME } from '../http/route.ts'

const COST = { type: ['number', 'null'] }
const COST_FIGURES = {
  cost: { ...COST, description: 'In units of the currency; null if the cost of all calls is unknown.' },
  calls: { ...COUNT, description: 'Calls that ran, and turns of models; for by=run, runs.' },
  unknown_calls: { ...COUNT, description: 'Those of them whose cost is unknown.' },
}
const DAY = { type: 'string', format: 'date', maxLength: 10 }

interface CostsQuery extends CostRange {
  readonly by: CostReport['by']
  readonly tenant?: string
  readonly limit: number
}

const BUDGET_STATE = {
  tenant: TEXT,
  scope: { enum: BUDGET_SCOPES },
  name: { ...TEXT, description: 'Of the tenant, tool or model. Of a key, its name.' },
  per: { enum: BUDGET_PERIODS },
  amount: { type: 'number' },
  spent: { type: 'number' },
  currency: TEXT,
  resets_at: TIME,
  action: { enum: ['refuse', 'warn'] },
}

/** What tools and models cost, and what is left of budgets. */
export function costRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { storage, budgets, callers, clock } = installation

  app.get<{ Querystring: CostsQuery }>(
    '/api/costs',
    route('observe', 'metrics', 'What calls of tools and turns of models cost', {
      description: 'Days are those of UTC. Costs are stored for 13 months, those of runs as long as the runs.',
      querystring: exactly({
        by: { enum: COST_BY, default: 'tool', description: 'tenant across tenants needs the scope installation.' },
        period: { enum: COST_PERIODS, description: 'This day, week or month so far. Default: month, without from.' },
        from: { ...DAY, description: 'The first day, instead of period.' },
        to: { ...DAY, description: 'The first day that does not count. Default: tomorrow.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_COST_ROWS,
          default: 100,
          description: 'The maximum number of rows.',
        },
        ...TENANT_QUERY,
      }),
      response: {
        200: object(
          {
            by: { enum: COST_BY },
            currency: TEXT,
            from: DAY,
            to: DAY,
            total: object(COST_FIGURES),
            rows: list({ name: TEXT, label: { ...TEXT, description: 'The name of a key.' }, ...COST_FIGURES }),
            days: list({ day: DAY, ...COST_FIGURES }, 'Days without calls are left out'),
          },
          'The costs, the most expensive row first',
        ),
      },
    }),
    async (request) => {
      const { by, limit, tenant: asked, ...range } = request.query
      const tenant = tenantAsked(request as FastifyRequest, asked)
      let days: ReturnType<typeof costDays>
      try {
        days = costDays(range, clock.wall())
      } catch (error) {
        throw new HttpProblem(400, 'The request is not valid', (error as Error).message)
      }
      await installation.settle()
      const { currency } = budgets
      const keyName = (id: string) => callers.nameOf(id)
      const { tools, models } = request.caller
      const patterns = by === 'tool' ? tools : by === 'model' ? models : undefined
      const most = patterns === undefined ? limit : MAX_COST_ROWS
      const report = await costReport(storage.spending, { tenant, by, ...days, limit: most }, { currency, keyName })
      // The name of a tool or model says that it exists.
      const rows = patterns && report.rows.filter(({ name }) => matchesGlobs(patterns, name)).slice(0, limit)
      return rows === undefined ? report : { ...report, rows }
    },
  )

  app.get<{ Querystring: { readonly tenant?: string } }>(
    '/api/budgets',
    route('observe', 'metrics', 'What is spent of each budget in its period now', {
      description:
        'A budget for several names has a row for each that has spent something, 100 at most. With tenant=*: the budgets of whole tenants.',
      querystring: exactly(TENANT_QUERY),
      response: {
        200: object({ budgets: list(BUDGET_STATE) }, 'The budgets'),
      },
    }),
    async (request): Promise<{ budgets: readonly BudgetState[] }> => {
      const tenant = tenantAsked(request as FastifyRequest, request.query.tenant)
      await installation.settle()
      const states = await budgets.states(tenant)
      const { tools, models } = request.caller
      const patterns = { tool: tools, model: models, key: undefined, tenant: undefined }
      // The name of a tool or model says that it exists.
      return { budgets: states.filter(({ scope, name }) => matchesGlobs(patterns[scope] ?? ['*'], name)) }
    },
  )
}
