import { useMay } from '../../api/queries.ts'
import { Code } from '../../parts/section.tsx'
import { Empty } from '../../parts/states.tsx'
import { Limits } from './limits.tsx'
import { McpServers } from './mcp-servers.tsx'

/** How it stands with what calls depend on: MCP servers, breakers and limits. */
export function Connections() {
  if (!useMay('observe')) {
    return (
      <Empty title="Your key may not see connections and limits">
        It lacks the scope <Code>observe</Code>, which operators and admins have. Ask whoever gave you the key for such
        a one, and sign in with it.
      </Empty>
    )
  }
  return (
    <div className="grid grid-cols-1 gap-8">
      <McpServers />
      <Limits />
    </div>
  )
}
