import { useMay } from '../../api/queries.ts'
import { AddLink } from '../../parts/add-link.tsx'
import { Code, Section } from '../../parts/section.tsx'
import { Empty, Failed, Loading, Note } from '../../parts/states.tsx'
import { serversQuery, useWatched } from './connection-queries.ts'
import { McpServer } from './mcp-server.tsx'

/** The MCP servers that the caller may see. */
export function McpServers() {
  const { data, error, refetch } = useWatched(serversQuery)
  const seesAll = useMay('installation')
  return (
    <Section title="MCP servers" about="Toolyard reconnects to lost servers automatically.">
      {!seesAll && (
        <Note>
          You see the servers whose tools your tenant may use. To see all servers and their stderr, and to reconnect,
          you need a key with the scope <Code>installation</Code>. Create one on the server with{' '}
          <Code>npx toolyard keys create --role admin --all-tenants</Code>.
        </Note>
      )}
      {data === undefined && error && <Failed error={error} what="the MCP servers" again={() => void refetch()} />}
      {data === undefined && !error && <Loading what="the MCP servers" />}
      {data?.servers.length === 0 &&
        (seesAll ? (
          <Empty title="No MCP servers" action={{ label: 'Add an MCP server', href: '/setup/mcp' }}>
            Their tools appear beside yours.
          </Empty>
        ) : (
          <Empty title="No MCP servers for your tenant">
            {' '}
            A server appears here when your tenant may use one of its tools.
          </Empty>
        ))}
      {data !== undefined && data.servers.length > 0 && (
        <ul aria-label="MCP servers" className="grid grid-cols-1 gap-3">
          {data.servers.map((server) => (
            <McpServer key={server.name} server={server} mayReconnect={seesAll} />
          ))}
        </ul>
      )}
      {seesAll && data !== undefined && data.servers.length > 0 && (
        <div>
          <AddLink href="/setup/mcp">Add an MCP server</AddLink>
        </div>
      )}
    </Section>
  )
}
