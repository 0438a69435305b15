import { useMay } from '../../api/queries.ts'
import { Code } from '../../parts/section.tsx'
import { Empty } from '../../parts/states.tsx'
import { Limits } from './limits.tsx'
import { McpServers } from './mcp-servers.tsx'

/** The state of MCP servers, circuit breakers and limits. */
export function Connections() {
  if (!useMay('observe')) {
    return (
      <Empty title="Your key can’t view connections and limits">
        It lacks the scope <Code>observe</Code>, which operators and admins have. Ask an administrator for such a key
        and sign in with it.
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
