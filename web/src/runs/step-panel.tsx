import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RunStep } from '../../../src/core/storage/run-store.ts'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { count, inDate, inMoney, inTime } from '../parts/figures.ts'
import { CrossIcon } from '../parts/icons.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { ValueView } from '../parts/media.tsx'
import { Chip, Note } from '../parts/states.tsx'
import { Warnings } from '../parts/warnings.tsx'
import { stepFacts } from './step-facts.ts'

interface StepPanelProps {
  readonly step: RunStep
  readonly title: string
  /** The address of the call, if the audit log has it. */
  readonly href: string | undefined
  readonly close: () => void
}

/** One step of a run beside the tree: parameters, result, times, cost and error. */
export function StepPanel({ step, title, href, close }: StepPanelProps) {
  const { failed, error, result, hasPayload } = stepFacts(step)
  const cost = (step.result as Partial<ToolResult> | undefined)?.cost ?? step.cost
  const tokens = step.prompt_tokens === undefined ? undefined : step.prompt_tokens + (step.completion_tokens ?? 0)
  return (
    <aside
      aria-label={`Details of ${title}`}
      className="min-w-0 rounded-lg border border-line bg-ground p-3 text-sm lg:sticky lg:top-16"
    >
      <div className="flex items-center gap-2">
        <h3 className={`min-w-0 flex-1 font-medium wrap-anywhere ${step.type === 'tool' ? 'font-mono' : ''}`}>
          {title}
        </h3>
        {step.type === 'tool' && <Chip tone={failed ? 'bad' : 'good'}>{failed ? 'failed' : 'success'}</Chip>}
        <button
          type="button"
          aria-label="Close the details"
          className="min-h-8 min-w-8 rounded-md p-1.5 text-muted hover:bg-sunk hover:text-ink"
          onClick={close}
        >
          <CrossIcon />
        </button>
      </div>
      <dl className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 tabular-nums">
        <Fact name="Started">{inDate(step.started_at)}</Fact>
        <Fact name="Duration">{inTime(step.duration_ms)}</Fact>
        {tokens !== undefined && <Fact name="Tokens">{count(tokens, 'token')}</Fact>}
        {typeof cost === 'number' && <Fact name="Cost">{inMoney(cost)}</Fact>}
        {step.finish_reason !== undefined && <Fact name="Ended with">{step.finish_reason.replaceAll('_', ' ')}</Fact>}
      </dl>
      {error !== undefined && (
        <div className="mt-2">
          <Note tone="bad">{error}</Note>
        </div>
      )}
      {step.text !== undefined && step.text !== '' && (
        <p className="mt-2 rounded-lg bg-sunk p-2 break-words whitespace-pre-wrap">{step.text}</p>
      )}
      {step.params !== undefined && (
        <Part title="Parameters">
          <JsonTree value={step.params} label="Parameters" />
        </Part>
      )}
      <Warnings result={step.result} />
      {result !== undefined && (
        <Part title="Result">
          <ValueView value={result} label="Result" />
        </Part>
      )}
      {step.type === 'tool' && !hasPayload && (
        <p className="mt-2 text-muted">Parameters and results are not stored: see storage.payloads.</p>
      )}
      <div className="mt-2 flex flex-wrap items-center gap-x-3">
        {href !== undefined && (
          <Link href={href} className="text-accent underline underline-offset-2">
            Open the call
          </Link>
        )}
        {hasPayload && (
          <span className="ml-auto">
            <CopyButton look="quiet" text={JSON.stringify({ params: step.params, result: step.result }, null, 2)} />
          </span>
        )}
      </div>
    </aside>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: string }) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd className="wrap-anywhere">{children}</dd>
  </>
)

const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section aria-label={title} className="mt-2 min-w-0">
    <h4 className="text-xs font-medium text-muted">{title}</h4>
    <div className="max-h-96 overflow-auto">{children}</div>
  </section>
)
