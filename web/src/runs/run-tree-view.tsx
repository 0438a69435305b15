import { Link } from 'wouter'
import type { RunView } from '../../../src/server/http/views.ts'
import { count, inMoney, inNumber, inTime } from '../parts/figures.ts'
import { BreakableName } from '../parts/section.tsx'
import type { CallLinks } from './call-links.ts'
import { flatTree, periodOf, runTree, type TreeNode, totalOf } from './run-tree.ts'

const COLOURS = { turn: 'bg-accent', call: 'bg-good', run: 'bg-warn' } as const
const LINK = 'text-accent underline underline-offset-2'

/** What happened in a run, as a tree with times and costs. */
interface RunTreeProps {
  readonly run: RunView
  readonly links?: CallLinks | undefined
  /** The id of the node whose details are shown. */
  readonly chosen: string | undefined
  readonly choose: (id: string | undefined) => void
}

export function RunTreeView({ run, links, chosen, choose }: RunTreeProps) {
  const tree = runTree(run)
  const nodes = flatTree(tree)
  if (nodes.length === 0) return <p className="text-sm text-muted">No steps are stored.</p>
  const { from, ms } = periodOf(tree)
  const total = totalOf(run, tree)
  const tokens = total.tokens > 0
  const cost = total.cost !== undefined
  const turns = nodes.filter(({ kind }) => kind === 'turn').length
  const calls = nodes.filter(({ kind }) => kind === 'call').length
  const agents = nodes.length - turns - calls
  return (
    <table className="w-full text-left text-sm">
      <caption className="sr-only">Timeline: start, duration and cost of each step</caption>
      <thead className="text-xs text-muted">
        <tr>
          <th scope="col" className="py-1 pr-3 font-medium">
            Step
          </th>
          <th scope="col" className="w-2/5 py-1 font-medium max-sm:hidden">
            When
          </th>
          <Column title="Time" />
          {tokens && <Column title="Tokens" narrow />}
          {cost && <Column title="Cost" />}
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <tr key={node.id} className={`border-t border-line hover:bg-sunk ${node.id === chosen ? 'bg-sunk' : ''}`}>
            <th scope="row" className="py-1 pr-3 font-normal">
              <span className="flex items-baseline gap-2" style={{ paddingLeft: `${node.depth * 1.25}rem` }}>
                <Title node={node} row={node.kind === 'call' ? links?.get(Number(node.id)) : undefined} />
                {node.kind !== 'run' && (
                  <button
                    type="button"
                    aria-expanded={node.id === chosen}
                    className="ml-auto rounded-md px-1.5 text-xs text-muted hover:bg-panel hover:text-ink"
                    onClick={() => choose(node.id === chosen ? undefined : node.id)}
                  >
                    Details<span className="sr-only"> of {node.title}</span>
                  </button>
                )}
              </span>
            </th>
            <td className="py-1 max-sm:hidden">
              <span className="sr-only">after {inTime(node.startedAt - from)}</span>
              <div aria-hidden="true" className="relative h-3 rounded-sm bg-sunk">
                <div
                  className={`absolute inset-y-0 min-w-1 rounded-sm ${node.failed ? 'bg-bad' : COLOURS[node.kind]}`}
                  style={{
                    left: `${((node.startedAt - from) / ms) * 99}%`,
                    width: `${(node.durationMs / ms) * 99}%`,
                  }}
                />
              </div>
            </td>
            <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">{lasted(node)}</td>
            {tokens && (
              <td className="py-1 pl-3 text-right tabular-nums max-sm:hidden">
                {node.tokens !== undefined && inNumber(node.tokens)}
              </td>
            )}
            {cost && (
              <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">
                {node.cost !== undefined && inMoney(node.cost)}
              </td>
            )}
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr className="border-t border-edge font-medium">
          <th scope="row" className="py-1 pr-3 font-medium">
            Total
          </th>
          <td className="py-1 text-xs font-normal text-muted max-sm:hidden">
            {[count(turns, 'model turn'), count(calls, 'call'), ...(agents > 0 ? [count(agents, 'agent')] : [])].join(
              ', ',
            )}
          </td>
          <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">{inTime(run.duration_ms)}</td>
          {tokens && <td className="py-1 pl-3 text-right tabular-nums max-sm:hidden">{inNumber(total.tokens)}</td>}
          {cost && <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">{inMoney(total.cost ?? 0)}</td>}
        </tr>
      </tfoot>
    </table>
  )
}

const Column = ({ title, narrow = false }: { readonly title: string; readonly narrow?: boolean }) => (
  <th scope="col" className={`py-1 pl-3 text-right font-medium ${narrow ? 'max-sm:hidden' : ''}`}>
    {title}
  </th>
)

/** The turn of a durable run from an older version has no duration. */
const lasted = ({ kind, durationMs }: TreeNode): string =>
  kind === 'turn' && durationMs === 0 ? '–' : inTime(durationMs)

interface TitleProps {
  readonly node: TreeNode
  /** The id of the call's row in the audit log; without it, the title leads to the tool. */
  readonly row: string | undefined
}

function Title({ node: { kind, title, tool, runId, model, failed }, row }: TitleProps) {
  if (runId !== undefined) {
    return (
      <>
        <span className="text-xs text-muted">agent</span>
        <Link href={`/runs/${runId}`} className={LINK}>
          <BreakableName name={title} />
        </Link>
        {model !== undefined && <span className="text-xs text-muted">{model}</span>}
        {failed && <span className="text-xs text-bad">failed</span>}
      </>
    )
  }
  if (kind === 'turn') return <span className="font-medium whitespace-nowrap">{title}</span>
  return (
    <>
      <Link
        href={
          row === undefined ? `/tool/${encodeURIComponent(tool ?? '')}` : `/activity/calls/${encodeURIComponent(row)}`
        }
        className={`${LINK} font-mono text-xs`}
      >
        <BreakableName name={title} />
      </Link>
      {failed && <span className="text-xs text-bad">failed</span>}
    </>
  )
}
