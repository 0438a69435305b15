import { Suspense } from 'react'
import { Link } from 'wouter'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { inTime } from '../parts/figures.ts'
import { lazyPart } from '../parts/lazy-part.ts'
import { ResultView } from '../parts/media.tsx'
import { Chip } from '../parts/states.tsx'

/** Loaded with the first result: the page of a tool is large. */
const CopyMenu = lazyPart(async () => (await import('./copy-menu.tsx')).CopyMenu)

interface CallResultProps {
  readonly result: ToolResult
  readonly kind: string
  readonly tool: string
  readonly params: unknown
}

/** The envelope of a call. */
export function CallResult({ result, kind, tool, params }: CallResultProps) {
  const { success, execution_time_ms } = result
  const runId = kind === 'agent' && success ? (result.result as { readonly run_id?: string } | null)?.run_id : undefined
  return (
    <div className={`panel min-w-0 p-4 ${success ? '' : 'border-bad'}`}>
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="font-medium">Result</h3>
        <Chip tone={success ? 'good' : 'bad'}>{success ? 'success' : result.error_code}</Chip>
        <span className="text-sm text-muted tabular-nums">{inTime(execution_time_ms)}</span>
        <span className="-my-1 ml-auto flex flex-wrap">
          <CopyButton text={JSON.stringify(result, null, 2)} label="Copy result" look="quiet" />
          <Suspense>
            <CopyMenu tool={tool} params={params} />
          </Suspense>
        </span>
        {!success && result.outcome === 'unknown' && <Chip tone="warn">may have happened</Chip>}
      </div>
      {runId !== undefined && (
        <Link href={`/runs/${runId}`} className="mt-2 inline-block text-accent underline underline-offset-2">
          Open the run of the agent
        </Link>
      )}
      {!success && <p className="mt-2 wrap-anywhere text-bad">{result.error}</p>}
      <div className="mt-3 overflow-x-auto">
        <ResultView result={result} label="Envelope" whole />
      </div>
    </div>
  )
}
