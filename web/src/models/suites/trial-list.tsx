import { type ReactNode, useState } from 'react'
import type { ReportedTrial } from '../../../../src/validation/reports/build-report.ts'
import type { Outcome } from '../../../../src/validation/running/trial.ts'
import { Button } from '../../parts/button.tsx'
import { inMoney, inNumber, inTime } from '../../parts/figures.ts'
import { JsonTree } from '../../parts/json-tree.tsx'
import { Chip } from '../../parts/states.tsx'
import { RateAnswer } from '../../runs/rate-answer.tsx'
import { OUTCOMES } from './outcomes.ts'

const AT_A_TIME = 50
const GROUPS = Object.keys(OUTCOMES) as Outcome[]

/** The results of all cases, failures first. */
export function TrialList({ run, trials }: { readonly run: string; readonly trials: readonly ReportedTrial[] }) {
  const groups = GROUPS.map((outcome) => ({ outcome, own: trials.filter((trial) => trial.outcome === outcome) }))
  const [chosen, setChosen] = useState<Outcome>()
  const [shown, setShown] = useState(AT_A_TIME)
  const group = groups.find(({ outcome }) => outcome === chosen) ?? groups.find(({ own }) => own.length > 0)
  return (
    <section aria-labelledby="cases" className="min-w-0">
      <h2 id="cases" className="text-lg font-semibold">
        Cases
      </h2>
      <fieldset className="mt-2 flex flex-wrap gap-2">
        <legend className="sr-only">Which cases are shown</legend>
        {groups
          .filter(({ own }) => own.length > 0)
          .map(({ outcome, own }) => (
            <Button
              key={outcome}
              aria-pressed={outcome === group?.outcome}
              className="aria-pressed:border-accent aria-pressed:bg-sunk"
              onClick={() => {
                setChosen(outcome)
                setShown(AT_A_TIME)
              }}
            >
              {inNumber(own.length)} {OUTCOMES[outcome].word}
            </Button>
          ))}
      </fieldset>
      <ul className="mt-3 grid grid-cols-1 gap-2" aria-label="Cases">
        {group?.own.slice(0, shown).map((trial) => (
          <li key={`${trial.suite} ${trial.model} ${trial.case} ${trial.repetition}`}>
            <Trial run={run} trial={trial} />
          </li>
        ))}
      </ul>
      {(group?.own.length ?? 0) > shown && (
        <Button className="mt-3" onClick={() => setShown(shown + AT_A_TIME)}>
          Show more
        </Button>
      )}
    </section>
  )
}

function Trial({ run, trial }: { readonly run: string; readonly trial: ReportedTrial }) {
  const { outcome, case: id, model, suite, repetition, message, kind, query, duration_ms, cost } = trial
  const title = (
    <>
      <Chip tone={OUTCOMES[outcome].tone}>{kind?.replaceAll('_', ' ') ?? OUTCOMES[outcome].word}</Chip>{' '}
      <span className="font-medium break-words">{repetition > 1 ? `${id} (${repetition})` : id}</span>{' '}
      <span className="text-sm break-words text-muted">
        {suite}, {model}
      </span>
      {message !== undefined && <span className="mt-1 block text-sm break-words">{message}</span>}
    </>
  )
  const rate = <RateAnswer subject={{ suite_run_id: run, trial: { suite, model, case: id, repetition } }} />
  if (outcome !== 'failed') {
    return (
      <div className="panel p-3">
        {title}
        <p className="mt-1 line-clamp-2 text-sm break-words text-muted">{query}</p>
        {outcome === 'passed' && <div className="mt-2">{rate}</div>}
      </div>
    )
  }
  return (
    <details className="panel p-3">
      <summary className="cursor-pointer">{title}</summary>
      <h3 className="mt-3 text-xs font-medium text-muted">Asked</h3>
      <p className="text-sm break-words whitespace-pre-wrap">{query}</p>
      <div className="mt-3 grid gap-3 sm:grid-cols-2">
        <Side title="Expected" tone="border-good">
          <Expected trial={trial} />
        </Side>
        <Side title="Actual" tone="border-bad">
          <Actual trial={trial} />
        </Side>
      </div>
      <p className="mt-2 text-xs text-muted tabular-nums">
        {duration_ms !== undefined && inTime(duration_ms)}
        {cost !== undefined && cost > 0 && `, ${inMoney(cost)}`}
      </p>
      <div className="mt-2">{rate}</div>
    </details>
  )
}

interface SideProps {
  readonly title: string
  readonly tone: string
  readonly children: ReactNode
}

const Side = ({ title, tone, children }: SideProps) => (
  <section aria-label={title} className={`min-w-0 rounded-lg border-l-4 bg-sunk p-3 ${tone}`}>
    <h3 className="text-sm font-medium">{title}</h3>
    <div className="mt-1 overflow-x-auto">{children}</div>
  </section>
)

function Expected({ trial: { expectation, expected } }: { readonly trial: ReportedTrial }) {
  const value = expectation ?? expected
  if (value === undefined) return <p className="text-sm text-muted">See the message above.</p>
  return <JsonTree value={value} label="Expected" />
}

/** The calls and the answer. */
function Actual({ trial: { turns, actual } }: { readonly trial: ReportedTrial }) {
  if (turns === undefined) return <JsonTree value={actual ?? 'too long to store'} label="Actual" />
  const calls = turns.flatMap((turn) => turn.calls)
  const said = turns.map(({ answer }) => answer).filter((answer) => answer !== '')
  return (
    <>
      {calls.length === 0 ? (
        <p className="text-sm text-muted">No calls.</p>
      ) : (
        <JsonTree value={{ calls }} label="Calls made" />
      )}
      {said.length > 0 && <p className="mt-2 text-sm break-words whitespace-pre-wrap">“{said.join('” “')}”</p>}
    </>
  )
}
