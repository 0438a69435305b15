import { Link } from 'wouter'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { count, inMoney, inTime } from '../parts/figures.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { ResultView } from '../parts/media.tsx'
import { Chip } from '../parts/states.tsx'
import { Warnings } from '../parts/warnings.tsx'
import type { CallLinks } from '../runs/call-links.ts'
import { CopyMenu } from '../tools/copy-menu.tsx'
import type { RunCall, RunTurn } from './run-state.ts'

interface RunTurnsProps {
  readonly turns: readonly RunTurn[]
  readonly running: boolean
  /** Of a stored run: the rows of its calls in the audit log. */
  readonly links?: CallLinks | undefined
}

/** The turns of a run with text and calls. */
export const RunTurns = ({ turns, running, links }: RunTurnsProps) => (
  <ol className="grid grid-cols-1 gap-3" aria-label="Turns of the model">
    {turns.map((turn, index) => (
      <li key={`${turn.iteration}-${turn.startedAt}`} className="border-l-2 border-line pl-3">
        <p className="flex flex-wrap items-center gap-2 text-sm">
          <span className="font-medium">Turn {index + 1}</span>
          <span className="text-muted tabular-nums">{whatHappened(turn, running)}</span>
          {turn.tokens !== undefined && <span className="text-muted tabular-nums">{count(turn.tokens, 'token')}</span>}
          {turn.cost !== undefined && <span className="text-muted tabular-nums">{inMoney(turn.cost)}</span>}
        </p>
        {turn.text !== '' && (turn.calls.length > 0 || index < turns.length - 1) && (
          <p className="mt-1 text-sm whitespace-pre-wrap text-muted">{turn.text}</p>
        )}
        {turn.calls.length > 0 && (
          <ul
            className="mt-2 grid grid-cols-[repeat(auto-fit,minmax(min(100%,17rem),1fr))] gap-2"
            aria-label={`Calls of turn ${index + 1}`}
          >
            {turn.calls.map((call) => (
              <li key={call.id} className="min-w-0">
                <Call call={call} iteration={turn.iteration} running={running} row={links?.get(call.step ?? -1)} />
              </li>
            ))}
          </ul>
        )}
      </li>
    ))}
    {running && turns.at(-1)?.calls.some(isOver) && turns.at(-1)?.calls.every(isOver) && (
      <li className="border-l-2 border-line pl-3 text-sm">
        <span className="font-medium">Turn {turns.length + 1}</span>{' '}
        <span className="moving text-muted">the model is responding …</span>
      </li>
    )}
  </ol>
)

const isOver = ({ result }: RunCall): boolean => result !== undefined

function whatHappened({ durationMs, calls }: RunTurn, running: boolean): string {
  if (durationMs === undefined) return running ? 'the model is responding …' : ''
  const did = calls.length === 0 ? 'answer' : count(calls.length, 'call')
  return `${did}, ${inTime(durationMs)}`
}

/** The contents of a result are absent if the server doesn't store them. */
function StoredResult({ result, tool }: { readonly result: ToolResult; readonly tool: string }) {
  const isStored = result.success ? 'result' in result : result.error !== undefined
  if (!isStored) return <span className="text-sm text-muted">not stored</span>
  return <ResultView result={result} label={`Result of ${tool}`} />
}

interface CallProps {
  readonly call: RunCall
  readonly iteration: number
  readonly running: boolean
  /** The id of its row in the audit log. */
  readonly row: string | undefined
}

function Call({ call, iteration, running, row }: CallProps) {
  const { tool, params, progress, result, notRun, recovered } = call
  return (
    <article
      aria-label={`Call of ${tool}`}
      className={`rounded-lg border bg-panel p-3 ${result?.success === false ? 'border-bad' : 'border-line'}`}
    >
      <div className="flex flex-wrap items-center gap-2">
        <Link
          href={`/tool/${encodeURIComponent(tool)}`}
          className="font-mono text-sm font-medium break-all underline-offset-2 hover:underline"
        >
          {tool}
        </Link>
        {result !== undefined && (
          <Chip tone={result.success ? 'good' : 'bad'}>{result.success ? 'success' : result.error_code}</Chip>
        )}
        {notRun && <Chip tone="warn">not run</Chip>}
        {recovered && <Chip tone="warn">recovered from text</Chip>}
        <span className="text-xs text-muted tabular-nums">
          Iteration {iteration}
          {result !== undefined && `, ${inTime(result.execution_time_ms)}`}
        </span>
        {row !== undefined && (
          <Link
            href={`/activity/calls/${encodeURIComponent(row)}`}
            className="text-xs text-accent underline underline-offset-2"
          >
            Open the call
          </Link>
        )}
        {result !== undefined && (
          <span className="-my-1.5 ml-auto flex flex-wrap">
            <CopyButton text={JSON.stringify({ tool, params, result }, null, 2)} look="quiet" />
            <CopyMenu tool={tool} params={params} />
          </span>
        )}
      </div>
      <p className="mt-2 text-xs font-medium text-muted">Parameters</p>
      <div className="overflow-x-auto">
        {params === undefined ? (
          <span className="text-sm text-muted">not stored</span>
        ) : (
          <JsonTree value={params} label={`Parameters of ${tool}`} />
        )}
      </div>
      <Warnings result={result} />
      <p className="mt-2 text-xs font-medium text-muted">Result</p>
      <div className="overflow-x-auto">
        {result === undefined ? (
          running ? (
            <span className="moving text-sm text-muted">running …</span>
          ) : (
            <span className="text-sm text-muted">none</span>
          )
        ) : (
          <StoredResult result={result} tool={tool} />
        )}
        {result === undefined && progress !== undefined && <JsonTree value={progress} label="Progress" />}
      </div>
    </article>
  )
}
