import { queryOptions, useQuery } from '@tanstack/react-query'
import type { AuditRow, ExecutionMetrics } from '../../../src/core/storage/ledger.ts'
import type { ModelValidation } from '../../../src/core/storage/validation-store.ts'
import type { Availability } from '../../../src/models/model-catalogue.ts'
import type { ModelInfo } from '../../../src/models/model-info.ts'
import type { ModelScores } from '../../../src/models/model-scores.ts'
import type {
  KnownSuite,
  ListedSuiteRun,
  PageTool,
  RunView,
  Session,
  ShownCall,
  SuiteEstimate,
  SuiteRequest,
  SuiteRunView,
  WholePageTool,
} from '../../../src/server/http/views.ts'
import type { FileCase } from '../../../src/validation/suites/suite.ts'
import type { ToolUseRecord } from '../../../src/validation/tool-use/tool-use.ts'
import type { GateSettings } from '../../../src/validation/tool-use/tool-use-gate.ts'
import { payIn } from '../parts/figures.ts'
import { requestJson } from './request.ts'

export type { ShownCall }

export type Scope = Session['scopes'][number]

/** A model with its test results. */
export interface ListedModel extends Pick<ModelInfo, 'id' | 'name' | 'capabilities'>, Availability {
  readonly validation: ModelValidation
  /** Results measured before the release. */
  readonly scores?: ModelScores
}

/** The results of a model with a tool, without single failures. */
export type ListedToolUse = Omit<ToolUseRecord, 'failures'>

interface ToolUses {
  readonly gate: Required<GateSettings>
  readonly tool_use: readonly ListedToolUse[]
}

interface KnownSuites {
  readonly suites: readonly KnownSuite[]
  readonly folder: { readonly name: string; readonly writable: boolean }
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    const session = await requestJson<Session>('/api/session', { signal })
    payIn(session.currency)
    return session
  },
  staleTime: 60_000,
})

/** Whether the current user has a scope. */
export function useMay(scope: Scope): boolean {
  const { data } = useQuery(sessionQuery)
  return data?.scopes.includes(scope) === true
}

export const toolsQuery = queryOptions({
  queryKey: ['tools'],
  queryFn: ({ signal }) => requestJson<{ tools: PageTool[] }>('/api/page/tools', { signal }),
  select: ({ tools }) => tools,
})

export const toolQuery = (name: string) =>
  queryOptions({
    queryKey: ['tools', name],
    queryFn: ({ signal }) => requestJson<WholePageTool>(`/api/page/tools/${encodeURIComponent(name)}`, { signal }),
  })

export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => requestJson<{ models: ListedModel[] }>('/api/models/list', { signal }),
  select: ({ models }) => models,
})

export const toolUseQuery = queryOptions({
  queryKey: ['tool-use'],
  queryFn: ({ signal }) => requestJson<ToolUses>('/api/validations/tools', { signal }),
})

/** The results of one model with one tool, with the latest failures. */
export const failuresQuery = (model: string, tool: string) =>
  queryOptions({
    queryKey: ['tool-use', model, tool],
    queryFn: ({ signal }) =>
      requestJson<{ tool_use: ToolUseRecord[] }>(`/api/validations/tools?${new URLSearchParams({ model, tool })}`, {
        signal,
      }),
    select: ({ tool_use }) => tool_use.flatMap(({ failures }) => failures).toReversed(),
  })

export const figuresQuery = queryOptions({
  queryKey: ['figures'],
  queryFn: ({ signal }) => requestJson<ExecutionMetrics>('/metrics/tools/execution?window=24h', { signal }),
})

export const historyQuery = (tool: string) =>
  queryOptions({
    queryKey: ['history', tool],
    queryFn: ({ signal }) =>
      requestJson<{ rows: AuditRow[] }>(`/audit?limit=20&tool=${encodeURIComponent(tool)}`, { signal }),
    select: ({ rows }) => rows,
  })

/** One call with its stored parameters and result; of another tenant, if one is named. */
export const callQuery = (id: string, tenant = '') =>
  queryOptions({
    queryKey: ['calls', id, tenant],
    queryFn: ({ signal }) => {
      const query = tenant === '' ? '' : `?tenant=${encodeURIComponent(tenant)}`
      return requestJson<ShownCall>(`/audit/${encodeURIComponent(id)}${query}`, { signal })
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

export const suitesQuery = queryOptions({
  queryKey: ['suites'],
  queryFn: ({ signal }) => requestJson<KnownSuites>('/api/suites', { signal }),
})

/** The estimated cost of a suite run. */
export const estimateQuery = (body: SuiteRequest) =>
  queryOptions({
    queryKey: ['suites', 'estimate', body],
    queryFn: ({ signal }) => requestJson<SuiteEstimate>('/api/validations/estimate', { method: 'POST', body, signal }),
  })

export const suiteRunsQuery = queryOptions({
  queryKey: ['suite-runs'],
  queryFn: ({ signal }) => requestJson<{ runs: ListedSuiteRun[] }>('/api/validations/runs', { signal }),
  select: ({ runs }) => runs,
})

export const suiteRunQuery = (id: string) =>
  queryOptions({
    queryKey: ['suite-runs', id],
    queryFn: ({ signal }) => requestJson<SuiteRunView>(`/api/validations/runs/${encodeURIComponent(id)}`, { signal }),
  })

/** A stored run as a test case. */
export const runCaseQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', id, 'case'],
    queryFn: ({ signal }) => requestJson<FileCase>(caseAddress(id), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const caseAddress = (id: string): string => `/api/runs/${encodeURIComponent(id)}/cassette?as=case`

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', id],
    queryFn: ({ signal }) => requestJson<RunView>(`/api/runs/${encodeURIComponent(id)}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
