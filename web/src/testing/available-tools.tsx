import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { PageTool } from '../../../src/server/http/views.ts'
import { toolsQuery } from '../api/queries.ts'
import { BreakableName } from '../parts/section.tsx'
import { excerpt } from '../parts/shortened.ts'
import { Chip, Empty, Failed, Loading } from '../parts/states.tsx'
import { BoxList } from '../parts/virtual-list.tsx'
import { EffectChip } from '../tools/effect-chip.tsx'

const ROW_PX = 84
const MOST_DESCRIPTION = 120

/** The tools that models can call. */
export function AvailableTools() {
  const { data: tools, error, refetch } = useQuery(toolsQuery)
  return (
    <section aria-labelledby="available" className="panel min-w-0">
      <h2 id="available" className="px-4 pt-4 text-lg font-semibold">
        Available Tools {tools !== undefined && <span className="font-normal text-muted">({tools.length})</span>}
      </h2>
      <div className="p-2">
        {tools === undefined && !error && <Loading what="the tools" />}
        {tools === undefined && error && <Failed error={error} what="the tools" again={() => void refetch()} />}
        {tools?.length === 0 && <Empty title="No tools">The model can only answer without tools.</Empty>}
        {tools !== undefined && tools.length > 0 && (
          <BoxList
            items={tools}
            keyOf={({ name }) => name}
            rowPx={ROW_PX}
            label="List of tools"
            boxClassName="max-h-[26rem] lg:max-h-[34rem]"
            rowClassName="rounded-lg px-2 py-2"
            row={(tool) => <Tool tool={tool} />}
          />
        )}
      </div>
    </section>
  )
}

const Tool = ({ tool }: { readonly tool: PageTool }) => (
  <>
    <div className="flex items-center gap-2">
      <Link
        href={`/tool/${encodeURIComponent(tool.name)}`}
        className="font-mono text-sm font-medium underline-offset-2 hover:underline"
      >
        <BreakableName name={tool.name} />
      </Link>
      <Chip>{tool.kind}</Chip>
      {tool.effect === 'write' && <EffectChip tool={tool} />}
    </div>
    <p className="mt-0.5 text-sm wrap-anywhere text-muted">{excerpt(tool.description, MOST_DESCRIPTION)}</p>
  </>
)
