import { Tabs } from '@base-ui/react/tabs'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useHistoryState } from 'wouter/use-browser-location'
import type { WholePageTool } from '../../../src/server/http/views.ts'
import { callQuery, figuresQuery, toolQuery, useMay } from '../api/queries.ts'
import { count, inSuccess, inTime } from '../parts/figures.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { lazyPart } from '../parts/lazy-part.ts'
import { ownValue } from '../parts/own-value.ts'
import { Chip, Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { CallHistory } from './call-history.tsx'
import { CopyAs } from './copy-as.tsx'
import { EffectChip } from './effect-chip.tsx'
import { declaredParams } from './form/declared-params.ts'
import { StepGraph } from './step-graph.tsx'
import { TryTool } from './try-tool.tsx'
import { Versions } from './versions.tsx'

/** A tool with a form to try it, its history, and code snippets. */
export function ToolPage({ name }: { readonly name: string }) {
  usePageTitle(name)
  const { data: tool, error, refetch } = useQuery(toolQuery(name))
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm wrap-anywhere">
        <Link href="/" className="text-accent underline underline-offset-2">
          Tools
        </Link>
        <span className="text-muted"> / {name}</span>
      </nav>
      {tool !== undefined && <WithParams tool={tool} />}
      {tool === undefined && (
        <div className="mt-4">
          {error ? (
            <Failed error={error} what={`the tool ${name}`} again={() => void refetch()} />
          ) : (
            <Loading what="the tool" />
          )}
        </div>
      )}
    </>
  )
}

/** The tool, with the parameters of the call that the URL names, or of the message that led here. */
function WithParams({ tool }: { readonly tool: WholePageTool }) {
  const [address] = useSearchParams()
  const handed = useHistoryState<{ readonly params?: unknown } | null>()?.params
  const id = address.get('call') ?? ''
  const { data, error, isLoading } = useQuery({ ...callQuery(id), enabled: id !== '' })
  if (isLoading) return <Loading what="the parameters of the call" />
  if (id === '' && typeof handed === 'object' && handed !== null) {
    return (
      <WholeTool tool={tool} given={handed}>
        <Note>
          These are the parameters of a recorded message.
          {hasRemoved(handed) && ' Secrets were removed from them: enter them again.'}
        </Note>
      </WholeTool>
    )
  }
  const call = data?.row.tool === tool.name ? data : undefined
  const given = call?.payload?.params
  const problem = id === '' || given !== undefined ? undefined : (error?.message ?? 'They are not stored.')
  return (
    <WholeTool tool={tool} given={typeof given === 'object' && given !== null ? given : {}}>
      {problem !== undefined && <Note tone="warn">The parameters of the call could not be filled in. {problem}</Note>}
      {given !== undefined && (
        <Note>
          These are the parameters of{' '}
          <Link href={`/activity/calls/${encodeURIComponent(id)}`} className="underline underline-offset-2">
            an earlier call
          </Link>
          .{hasRemoved(given) && ' Secrets were removed from them: enter them again.'}
          {call?.payload?.shortened && ' They were too long to be stored whole.'}
        </Note>
      )}
    </WholeTool>
  )
}

const RemovePart = lazyPart(async () => (await import('../setup/remove-part.tsx')).RemovePart)

/** Removes the tool from the configuration file, for those who may. */
function Removal({ name }: { readonly name: string }) {
  const mayRemove = useMay('installation')
  const [, go] = useLocation()
  if (!mayRemove) return null
  return (
    <Suspense fallback={null}>
      <div className="mt-8">
        <RemovePart removal={{ kind: 'remove_tool', name }} onRemoved={() => go('/')} />
      </div>
    </Suspense>
  )
}

const hasRemoved = (params: unknown): boolean => JSON.stringify(params).includes('[redacted]')

const TAB =
  'rounded-t-lg border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-sm font-medium text-muted hover:text-ink data-[active]:border-accent data-[active]:text-ink'

interface WholeToolProps {
  readonly tool: WholePageTool
  readonly given: object
  readonly children: ReactNode
}

function WholeTool({ tool, given, children }: WholeToolProps) {
  const [params, setParams] = useState<Record<string, unknown>>({ ...given })
  const [version, setVersion] = useState(tool.version)
  // Another version was made current meanwhile: its form has other fields.
  if (version !== tool.version) {
    setVersion(tool.version)
    setParams(declaredParams(tool.parameters, params))
  }
  const isVersioned = tool.version !== undefined || tool.versions !== undefined
  return (
    <>
      <h1 className="mt-2 font-mono text-2xl font-semibold tracking-tight wrap-anywhere">{tool.name}</h1>
      <div className="mt-2 flex flex-wrap items-center gap-1.5">
        <Chip>{tool.kind}</Chip>
        <EffectChip tool={tool} />
        <Chip>from {tool.origin}</Chip>
        {tool.permissions.map((permission) => (
          <Chip key={permission}>needs {permission}</Chip>
        ))}
        {tool.approval && <Chip tone="warn">needs approval</Chip>}
        {tool.version !== undefined && <Chip>version {tool.version}</Chip>}
        {tool.deprecated !== undefined && <Chip tone="warn">deprecated</Chip>}
        <Figures name={tool.name} />
      </div>
      <p className="mt-3 max-w-3xl whitespace-pre-line wrap-anywhere">{tool.description}</p>
      {tool.broken !== undefined && (
        <div className="mt-3">
          <Note tone="bad">This tool cannot be called: {tool.broken}</Note>
        </div>
      )}
      {tool.pipeline !== undefined && <StepGraph graph={tool.pipeline} />}
      <div className="mt-4">{children}</div>
      <TryTool tool={tool} params={params} onParams={setParams} />
      <Tabs.Root defaultValue="schema" className="mt-8">
        <Tabs.List aria-label="More about the tool" className="flex gap-1 border-b border-line">
          <Tabs.Tab value="schema" className={TAB}>
            Schema
          </Tabs.Tab>
          <Tabs.Tab value="history" className={TAB}>
            History
          </Tabs.Tab>
          <Tabs.Tab value="copy" className={TAB}>
            Copy as
          </Tabs.Tab>
          {isVersioned && (
            <Tabs.Tab value="versions" className={TAB}>
              Versions
            </Tabs.Tab>
          )}
        </Tabs.List>
        <Tabs.Panel value="schema" className="pt-4">
          <div className="panel overflow-x-auto p-4">
            <JsonTree value={tool.parameters} label="Schema of the parameters" />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="history" className="pt-4">
          <CallHistory tool={tool.name} />
        </Tabs.Panel>
        <Tabs.Panel value="copy" className="pt-4">
          <CopyAs tool={tool.name} params={params} />
        </Tabs.Panel>
        {isVersioned && (
          <Tabs.Panel value="versions" className="pt-4">
            <Versions tool={tool.name} />
          </Tabs.Panel>
        )}
      </Tabs.Root>
      <Removal name={tool.name} />
    </>
  )
}

function Figures({ name }: { readonly name: string }) {
  const { data } = useQuery({ ...figuresQuery, enabled: useMay('observe') })
  const figures = ownValue(data?.tools, name)
  if (figures === undefined) return null
  return (
    <span className="ml-1 text-sm text-muted tabular-nums">
      {count(figures.total, 'call')} in 24 h, {inSuccess(figures)} successful, p95 {inTime(figures.p95_ms)}
    </span>
  )
}
