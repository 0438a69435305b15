import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, Suspense, useMemo, useState } from 'react'
import type { WholePageTool } from '../../../src/server/http/views.ts'
import { toolQuery, useMay } from '../api/queries.ts'
import { approvalsQuery } from '../approvals/approval-queries.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { inTime } from '../parts/figures.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { lazyPart } from '../parts/lazy-part.ts'
import { Loading, Note } from '../parts/states.tsx'
import { CallResult } from './call-result.tsx'
import { writesLive } from './effect-chip.tsx'
import { openProblems } from './form/problems-by-field.ts'
import { ParamsText } from './params-text.tsx'
import { type CallState, useToolCall } from './use-tool-call.ts'

const QUESTION_MS = 1_500

/** A question of the MCP server during the call. The answer gets a tab of its own, so that the result stays in sight. */
function AskedMeanwhile({ tool }: { readonly tool: string }) {
  const { data } = useQuery({ ...approvalsQuery(true), enabled: useMay('approve'), refetchInterval: QUESTION_MS })
  const asked = data?.approvals.find((one) => one.question !== null && one.tool === tool)
  if (asked === undefined) return null
  return (
    <div className="mt-3">
      <Note role="status">
        The MCP server asks a question, and the call waits for the answer.{' '}
        <a href={`/approvals/${asked.id}`} target="_blank" rel="noreferrer" className="underline underline-offset-2">
          Answer it in a new tab
        </a>
        .
      </Note>
    </div>
  )
}

const ParamsForm = lazyPart(async () => (await import('./form/params-form.tsx')).ParamsForm)

const said = ({ running, result }: CallState): string => {
  if (running) return 'Running'
  if (result === undefined) return ''
  return result.success ? `Succeeded after ${inTime(result.execution_time_ms)}.` : `Failed: ${result.error}`
}

interface TryToolProps {
  readonly tool: WholePageTool
  readonly params: Record<string, unknown>
  readonly onParams: (params: Record<string, unknown>) => void
}

/** Runs a tool: parameters as a form and as JSON, and the result. */
export function TryTool({ tool, params, onParams }: TryToolProps) {
  const client = useQueryClient()
  const mayCall = useMay('call')
  const [readable, setReadable] = useState(true)
  const [asking, setAsking] = useState(false)
  const call = useToolCall(tool.name, tool.effect === 'write', () => {
    void client.invalidateQueries({ queryKey: ['history', tool.name] })
    void client.invalidateQueries({ queryKey: ['figures'] })
    // The call may wait for approval, or may have used one.
    void client.invalidateQueries({ queryKey: ['approvals'] })
    if (tool.pipeline !== undefined) void client.invalidateQueries(toolQuery(tool.name))
  })
  const live = writesLive(tool)
  const start = () => {
    setAsking(false)
    void call.run(params)
  }
  const failed = call.result?.success === false ? call.result : undefined
  const { approval, connect_url: connectUrl } = failed?.details ?? {}
  const problems = useMemo(
    () => openProblems(failed?.details?.problems ?? [], call.sent, params),
    [failed, call.sent, params],
  )
  const ask = () => (live ? setAsking(true) : start())
  /** Enter in a field of one line runs, and Ctrl+Enter everywhere. */
  const press = (event: KeyboardEvent) => {
    const { target } = event.nativeEvent
    const isLine = target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type)
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
    if (!(event.ctrlKey || event.metaKey || isLine) || !readable || !mayCall || call.running) return
    event.preventDefault()
    ask()
  }
  return (
    <section aria-labelledby="try" className="mt-6" onKeyDown={press}>
      <h2 id="try" className="text-lg font-semibold">
        Try it
      </h2>
      <div className="mt-3 grid gap-4 md:grid-cols-2">
        <div className="panel min-w-0 p-4">
          <h3 className="mb-3 text-sm font-medium text-muted">Form</h3>
          <ErrorBoundary instead={<Note tone="warn">This schema has no form. Enter the parameters as JSON.</Note>}>
            <Suspense fallback={<Loading what="the form" />}>
              <ParamsForm schema={tool.parameters} params={params} onParams={onParams} problems={problems} />
            </Suspense>
          </ErrorBoundary>
        </div>
        <div className="panel flex min-w-0 flex-col p-4 md:sticky md:top-20 md:self-start">
          <h3 id="params-json" className="mb-3 text-sm font-medium text-muted">
            Parameters as JSON
          </h3>
          <ParamsText params={params} onParams={onParams} onReadable={setReadable} labelledBy="params-json" />
        </div>
      </div>
      <div className="mt-4 flex flex-wrap items-center gap-3">
        {call.running ? (
          <Button look="danger" onClick={call.cancel}>
            Cancel
          </Button>
        ) : (
          <Button look={live ? 'danger' : 'main'} className="min-w-28" disabled={!readable || !mayCall} onClick={ask}>
            {live ? 'Run (live write)' : 'Run'}
          </Button>
        )}
        <span className="text-sm text-muted max-sm:hidden">Ctrl+Enter</span>
        {live && <span className="text-sm text-bad">This tool changes data. Its calls are not retried.</span>}
        {!mayCall && <span className="text-sm text-muted">Your key can’t call tools.</span>}
      </div>
      {/* Screen readers get the outcome, not the whole envelope. */}
      <p role="status" className="sr-only">
        {said(call)}
      </p>
      <div className="mt-4">
        {call.running && (
          <div className="panel p-4">
            <p className="moving text-muted">Running …</p>
            {tool.kind === 'mcp' && <AskedMeanwhile tool={tool.name} />}
            {call.progress !== undefined && <JsonTree value={call.progress} label="Progress" />}
          </div>
        )}
        {call.problem !== undefined && (
          <Note tone="bad" role="alert">
            {call.problem}
          </Note>
        )}
        {approval !== undefined && !call.running && (
          <div className="mb-3 flex flex-wrap items-center gap-3">
            {/* A window of its own: the parameters stay here. */}
            <a
              href={`/approvals/${approval.id}`}
              target="_blank"
              rel="noreferrer"
              className="text-accent underline underline-offset-2"
            >
              Open the approval
            </a>
            <span className="text-sm text-muted">Opens a new tab.</span>
            <Button onClick={() => void call.run(params, approval.id)}>Run the approved call</Button>
          </div>
        )}
        {connectUrl !== undefined && !call.running && (
          <p className="mb-3 flex flex-wrap items-center gap-3">
            {/* A window of its own: the parameters stay here. */}
            <a href={connectUrl} target="_blank" rel="noreferrer" className="text-accent underline underline-offset-2">
              Connect the account
            </a>
            <span className="text-sm text-muted">Opens a new tab. Then run the call again.</span>
          </p>
        )}
        {call.result !== undefined && !call.running && (
          <CallResult result={call.result} kind={tool.kind} tool={tool.name} params={call.sent} />
        )}
      </div>
      <ConfirmDialog
        open={asking}
        title={`Run ${tool.name}?`}
        action="Run it"
        onConfirm={start}
        onClose={() => setAsking(false)}
      >
        <p>This call changes data outside Toolyard. You can’t undo it here.</p>
        <pre className="mt-3 max-h-48 overflow-auto rounded-lg bg-sunk p-3 text-xs text-ink" tabIndex={0}>
          {JSON.stringify(params, null, 2)}
        </pre>
      </ConfirmDialog>
    </section>
  )
}
