import { useMemo, useState } from 'react'
import type { ReportedTrial } from '../../../../src/validation/reports/build-report.ts'
import { Button } from '../../parts/button.tsx'
import { inNumber } from '../../parts/figures.ts'
import { Chip } from '../../parts/states.tsx'
import { caseMatrix, FILTERS, type MatrixCell, stateOf } from './case-matrix.ts'

const AT_A_TIME = 50
const TONES = { passed: 'good', failed: 'bad', 'not judged': 'warn' } as const

/** The cases of a run with several models, side by side. */
export function MatrixView({ trials }: { readonly trials: readonly ReportedTrial[] }) {
  const { models, rows } = useMemo(() => caseMatrix(trials), [trials])
  const [filter, setFilter] = useState<keyof typeof FILTERS>('all')
  const [shown, setShown] = useState(AT_A_TIME)
  if (models.length < 2) return null
  const wanted = rows.filter(FILTERS[filter].fits)
  return (
    <section aria-labelledby="matrix" className="min-w-0">
      <h2 id="matrix" className="text-lg font-semibold">
        Models side by side
      </h2>
      <fieldset className="mt-2 flex flex-wrap gap-2">
        <legend className="sr-only">Which rows are shown</legend>
        {(Object.keys(FILTERS) as (keyof typeof FILTERS)[]).map((name) => (
          <Button
            key={name}
            aria-pressed={name === filter}
            className="aria-pressed:border-accent aria-pressed:bg-sunk"
            onClick={() => setFilter(name)}
          >
            {FILTERS[name].label} ({inNumber(rows.filter(FILTERS[name].fits).length)})
          </Button>
        ))}
      </fieldset>
      {wanted.length === 0 && <p className="mt-3 text-sm text-muted">No such cases.</p>}
      {wanted.length > 0 && (
        <section aria-label="Matrix" className="panel mt-3 overflow-x-auto" tabIndex={0}>
          <table className="w-full text-left text-sm">
            <thead className="text-xs text-muted">
              <tr>
                <th scope="col" className="sticky left-0 bg-panel px-3 py-2 font-medium">
                  Case
                </th>
                {models.map((model) => (
                  <th key={model} scope="col" className="px-3 py-2 font-medium wrap-anywhere">
                    {model}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {wanted.slice(0, shown).map((row) => (
                <tr key={`${row.suite} ${row.case}`} className="border-t border-line align-top">
                  <th scope="row" className="sticky left-0 w-1/3 min-w-40 bg-panel px-3 py-1.5 font-normal">
                    <span className="line-clamp-2 wrap-anywhere">{row.query}</span>
                    <span className="block text-xs wrap-anywhere text-muted">{row.case}</span>
                  </th>
                  {row.cells.map((cell, place) => (
                    <td key={models[place]} className="min-w-36 px-3 py-1.5">
                      <Cell cell={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {wanted.length > shown && (
        <Button className="mt-3" onClick={() => setShown(shown + AT_A_TIME)}>
          Show more
        </Button>
      )}
    </section>
  )
}

function Cell({ cell }: { readonly cell: MatrixCell }) {
  const state = stateOf(cell)
  return (
    <>
      <Chip tone={TONES[state]}>{cell.judged > 1 ? `${cell.passed} of ${cell.judged} passed` : state}</Chip>
      {cell.message !== undefined && (
        <span className="mt-0.5 line-clamp-2 text-xs wrap-anywhere text-muted">{cell.message}</span>
      )}
    </>
  )
}
