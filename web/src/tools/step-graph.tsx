import { Link } from 'wouter'
import type { PipelineGraph } from '../../../src/kinds/composite/pipeline.ts'
import { inDate } from '../parts/figures.ts'
import { Chip } from '../parts/states.tsx'

const WIDTH = 168
const HEIGHT = 52
const GAP_X = 48
const GAP_Y = 20

type Step = PipelineGraph['steps'][number]
type Status = NonNullable<PipelineGraph['last_run']>['steps'][number]['status']

const TONES: Readonly<Record<Status, 'plain' | 'good' | 'warn' | 'bad'>> = {
  done: 'good',
  failed: 'bad',
  cancelled: 'warn',
  running: 'warn',
  skipped: 'plain',
  not_run: 'plain',
}
const WORDS: Readonly<Record<Status, string>> = {
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  running: 'unfinished',
  skipped: 'skipped',
  not_run: 'not run',
}

interface Placed extends Step {
  readonly x: number
  readonly y: number
}

/** Puts every step to the right of those that it waits for. */
function place(steps: readonly Step[]): Map<string, Placed> {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const layers = new Map<string, number>()
  const layerOf = (id: string): number => {
    const known = layers.get(id)
    if (known !== undefined) return known
    const layer = Math.max(-1, ...(byId.get(id)?.after ?? []).map(layerOf)) + 1
    layers.set(id, layer)
    return layer
  }
  const rows = new Map<number, number>()
  return new Map(
    steps.map((step) => {
      const layer = layerOf(step.id)
      const row = rows.get(layer) ?? 0
      rows.set(layer, row + 1)
      return [step.id, { ...step, x: layer * (WIDTH + GAP_X), y: row * (HEIGHT + GAP_Y) }]
    }),
  )
}

const fitted = (text: string): string => (text.length > 20 ? `${text.slice(0, 19)}…` : text)

const described = ({ id, after }: Step): string => (after.length === 0 ? id : `${id} after ${after.join(', ')}`)

/** The steps of a pipeline as a picture, and what they did in the last run as a table. */
export function StepGraph({ graph }: { readonly graph: PipelineGraph }) {
  const placed = place(graph.steps)
  const all = [...placed.values()]
  const width = Math.max(...all.map(({ x }) => x)) + WIDTH
  const height = Math.max(...all.map(({ y }) => y)) + HEIGHT
  const last = new Map(graph.last_run?.steps.map((step) => [step.id, step]))
  return (
    <section aria-labelledby="steps" className="mt-6">
      <h2 id="steps" className="text-lg font-semibold">
        Steps
      </h2>
      <section aria-label="Picture of the steps" className="panel mt-3 overflow-x-auto p-4" tabIndex={0}>
        <svg width={width + 2} height={height + 2} viewBox={`-1 -1 ${width + 2} ${height + 2}`} role="img">
          <title>{`Steps: ${graph.steps.map(described).join('; ')}`}</title>
          {all.flatMap((step) =>
            step.after.map((id) => {
              const from = placed.get(id)
              if (from === undefined) return null
              const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, step.x, step.y + HEIGHT / 2]
              const middle = (x1 + x2) / 2
              const line = `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`
              return <path key={`${id} ${step.id}`} d={line} fill="none" className="stroke-edge" />
            }),
          )}
          {all.map(({ id, tool, x, y, for_each, when }) => (
            <g key={id} transform={`translate(${x},${y})`}>
              <rect width={WIDTH} height={HEIGHT} rx={8} className="fill-sunk stroke-edge" />
              <text x={12} y={22} className="fill-ink text-sm font-medium">
                {fitted(id)}
              </text>
              <text x={12} y={40} className="fill-muted font-mono text-xs">
                {fitted(tool)}
                {for_each ? ' × n' : ''}
                {when ? ' ?' : ''}
              </text>
            </g>
          ))}
        </svg>
      </section>
      <section aria-label="The last run" className="panel mt-3 overflow-x-auto" tabIndex={0}>
        <table className="w-full text-left text-sm">
          <caption className="px-4 py-2 text-left text-xs text-muted">
            {graph.last_run === undefined
              ? 'It has not run on this server yet.'
              : `Last run on this server: ${inDate(graph.last_run.at)}, ${graph.last_run.success ? 'successful' : 'failed'}`}
          </caption>
          <thead className="text-xs text-muted">
            <tr>
              {['Step', 'Tool', 'Status', 'Value'].map((title) => (
                <th key={title} scope="col" className="px-4 py-2 font-medium">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {graph.steps.map(({ id, tool }) => {
              const { status, value, error } = last.get(id) ?? {}
              return (
                <tr key={id} className="border-t border-line align-top">
                  <td className="px-4 py-2 font-medium">{id}</td>
                  <td className="px-4 py-2 font-mono text-xs">
                    <Link
                      href={`/tool/${encodeURIComponent(tool)}`}
                      className="inline-flex min-h-6 items-center text-accent underline"
                    >
                      {tool}
                    </Link>
                  </td>
                  <td className="px-4 py-2">{status && <Chip tone={TONES[status]}>{WORDS[status]}</Chip>}</td>
                  <td className="max-w-md px-4 py-2 font-mono text-xs wrap-anywhere">{error ?? value}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </section>
    </section>
  )
}
