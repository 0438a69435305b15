import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { RatedCount } from '../../../src/validation/tool-use/tool-use.ts'
import { type ListedToolUse, toolUseQuery, useMay } from '../api/queries.ts'
import { count, inPercent } from '../parts/figures.ts'
import { Chip, Empty, Failed, Loading, Note } from '../parts/states.tsx'
import { MIN_JUDGED } from '../testing/model-badge.tsx'
import { Failures } from './failures.tsx'

const GATES = {
  off: 'Models are offered all tools, including those they fail with.',
  warn: 'A run has a warning for each tool that its model fails with.',
  hide: 'Tools that a model fails with are not offered to it.',
}

/** All tools that a model made up. */
const UNKNOWN = '(unknown)'

const isShown = ({ schema, tool }: ListedToolUse): boolean => schema === 'current' || tool === UNKNOWN

/** Success rates by model and tool, from suites and real runs. */
export function ToolMatrix() {
  const mayObserve = useMay('observe')
  const { data, error, refetch } = useQuery({ ...toolUseQuery, enabled: mayObserve })
  return (
    <section aria-labelledby="matrix" className="grid min-w-0 grid-cols-1 gap-3">
      <div>
        <h2 id="matrix" className="text-lg font-semibold">
          Model × tool
        </h2>
        <p className="text-sm text-muted">
          Right: how often the model made the expected call in the cases of suites, and the lower bound of the true rate
          with 95 % confidence. Well-formed: how often its calls in real runs matched the schema of the tool, whether or
          not they were the right ones. {data && GATES[data.gate.gate]}
        </p>
      </div>
      {!mayObserve && <Empty title="Your key can’t view this">It lacks the scope observe.</Empty>}
      {mayObserve && data === undefined && !error && <Loading what="the results by tool" />}
      {data === undefined && error && <Failed error={error} what="the results by tool" again={() => void refetch()} />}
      {data !== undefined && <Table uses={data.tool_use.filter(isShown)} />}
      {data?.tool_use.some((use) => !isShown(use)) && (
        <Note>Tools that have changed or were removed are not shown.</Note>
      )}
    </section>
  )
}

function Table({ uses }: { readonly uses: readonly ListedToolUse[] }) {
  const models = [...new Set(uses.map(({ model_id }) => model_id))].sort()
  const tools = [...new Set(uses.map(({ tool }) => tool))].sort()
  if (uses.length === 0) {
    return (
      <Empty title="No results yet" action={{ label: 'Test a model', href: '/tools-testing' }}>
        Ask a model something that needs a tool, or run a suite.
      </Empty>
    )
  }
  const found = new Map(uses.map((use) => [JSON.stringify([use.model_id, use.tool]), use]))
  return (
    <section aria-label="Rates, tool by tool" className="panel overflow-x-auto" tabIndex={0}>
      <table className="w-full text-left text-sm">
        <thead className="text-xs text-muted">
          <tr>
            <th scope="col" className="px-4 py-2 font-medium">
              Tool
            </th>
            {models.map((model) => (
              <th key={model} scope="col" className="px-4 py-2 font-mono font-medium">
                {model}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tools.map((tool) => (
            <tr key={tool} className="border-t border-line">
              <th scope="row" className="px-4 py-2 font-mono font-medium">
                {tool === UNKNOWN ? 'unknown tools' : <ToolLink tool={tool} />}
              </th>
              {models.map((model) => (
                <Cell key={model} use={found.get(JSON.stringify([model, tool]))} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const ToolLink = ({ tool }: { readonly tool: string }) => (
  <Link href={`/tool/${encodeURIComponent(tool)}`} className="underline-offset-2 hover:underline">
    {tool}
  </Link>
)

const MIN_RATE = 0.8

const isProven = ({ trials, rate }: RatedCount): boolean => trials >= MIN_JUDGED && rate >= MIN_RATE

interface ShareProps {
  readonly of: RatedCount
  readonly what: string
  readonly none: string
}

const Share = ({ of: { trials, rate }, what, none }: ShareProps) =>
  trials === 0 ? (
    <span className="text-muted">{none}</span>
  ) : (
    <>
      <span className="font-medium">{inPercent(rate)}</span>{' '}
      <span className="text-muted">of {count(trials, what)}</span>
    </>
  )

function Cell({ use }: { readonly use: ListedToolUse | undefined }) {
  if (use === undefined) return <td className="px-4 py-2 text-muted">not tried</td>
  const { suite, run, failure_kinds, model_id, tool } = use
  const kinds = Object.entries(failure_kinds).map(([kind, times]) => `${kind.replaceAll('_', ' ')} ${times}`)
  return (
    <td className="px-4 py-2 align-top tabular-nums sm:whitespace-nowrap">
      <p>
        {isProven(suite) ? <Chip tone="good">✓ Right</Chip> : 'Right'}{' '}
        <Share of={suite} what="case" none="not judged" />
        {suite.trials > 0 && <span className="text-muted">, at least {inPercent(suite.lower_bound)}</span>}
      </p>
      <p>
        Well-formed <Share of={run} what="call" none="no calls" />
      </p>
      {kinds.length > 0 && <Failures model={model_id} tool={tool} kinds={kinds.join(', ')} />}
    </td>
  )
}
