import { useId } from 'react'
import type { CategoryScore, ModelScores } from '../../../src/models/model-scores.ts'
import { inDay, inNumber, inTenths } from '../parts/figures.ts'
import { BreakableName } from '../parts/section.tsx'

const LEADERBOARD = 'Berkeley Function-Calling Leaderboard'

/** Benchmark scores measured before the release, separate from the tests on this server. */
export function ModelScoresTable({ scores }: { readonly scores: ModelScores }) {
  const title = useId()
  const { rules, categories } = scores
  return (
    <section
      aria-labelledby={title}
      className="mt-4 grid grid-cols-1 gap-x-10 gap-y-3 border-t border-line pt-3 text-sm lg:grid-cols-2"
    >
      <div className="grid max-w-prose grid-cols-1 content-start gap-2 text-muted">
        <h3 id={title} className="font-semibold text-ink">
          {rules.replace(/^BFCL\b/, LEADERBOARD)}
        </h3>
        <p>
          How often the whole call was right, measured with Toolyard’s own scorer {daysOf(categories)}, before the
          release. These results do not count for the badge.
        </p>
        <p>
          In some categories, such as irrelevance, no offered tool fits the request. There the model is right if it
          makes no call.
        </p>
        <p>
          <a className="text-accent underline underline-offset-2" href="/guide/guides/mini.html">
            The page about mini
          </a>{' '}
          lists which requests were used in training, its errors and the method.
        </p>
      </div>
      <table aria-labelledby={title} className="w-full max-w-lg self-start text-left">
        <thead className="text-xs text-muted">
          <tr>
            <th scope="col" className="py-1 pr-3 font-medium">
              Category
            </th>
            <th scope="col" className="px-3 py-1 text-right font-medium">
              Right
            </th>
            <th scope="col" className="py-1 pl-3 text-right font-medium">
              Cases
            </th>
          </tr>
        </thead>
        <Rows title="Requests of the leaderboard" rows={categories.filter(({ own }) => !own)} />
        <Rows title="Toolyard’s own requests, by the same rules" rows={categories.filter(({ own }) => own)} />
      </table>
    </section>
  )
}

function Rows({ title, rows }: { readonly title: string; readonly rows: readonly CategoryScore[] }) {
  if (rows.length === 0) return null
  return (
    <tbody>
      <tr className="border-t border-line">
        <th scope="rowgroup" colSpan={3} className="pt-2 pb-1 text-xs font-medium text-muted">
          {title}
        </th>
      </tr>
      {rows.map(({ name, call_wanted, cases, right }) => (
        <tr key={name} className="align-top">
          <th scope="row" className="py-1 pr-3 font-normal">
            <span className="font-mono">
              <BreakableName name={name} />
            </span>
            {!call_wanted && <span className="text-muted max-sm:block"> (no call is right)</span>}
          </th>
          <td className="px-3 py-1 text-right font-medium whitespace-nowrap tabular-nums">{inTenths(right / cases)}</td>
          <td className="py-1 pl-3 text-right tabular-nums">{inNumber(cases)}</td>
        </tr>
      ))}
    </tbody>
  )
}

/** The day or range of days of the measurement. */
function daysOf(categories: readonly CategoryScore[]): string {
  const days = categories.map(({ measured }) => measured).sort()
  const [first = '', last = ''] = [days[0], days.at(-1)]
  return first === last ? `on ${inDay(first)}` : `between ${inDay(first)} and ${inDay(last)}`
}
