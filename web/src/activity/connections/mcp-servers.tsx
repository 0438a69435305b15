import { useMay } from '../../api/queries.ts'
import { Code, Section } from '../../parts/section.tsx'
import { Empty, Failed, Loading, Note } from '../../parts/states.tsx'
import { serversQuery, useWatched } from './connection-queries.ts'
import { McpServer } from './mcp-server.tsx'

/** Every MCP server that one may see. */
export function McpServers() {
  const { data, error, refetch } = useWatched(serversQuery)
  const seesAll = useMay('installation')
  return (
    <Section
      title="MCP servers"
      about="The servers that tools come from. Each is tried again by itself when it is lost."
    >
      {!seesAll && (
        <Note>
          You see the servers whose tools your tenant may use. All of them, what they wrote to stderr, and reconnecting
          are for keys with the scope <Code>installation</Code>:{' '}
          <Code>npx toolyard keys create --role admin --all-tenants</Code> at the machine of the server makes one.
        </Note>
      )}
      {data === undefined && error && <Failed error={error} what="the MCP servers" again={() => void refetch()} />}
      {data === undefined && !error && <Loading what="the MCP servers" />}
      {data?.servers.length === 0 &&
        (seesAll ? (
          <Empty title="No MCP server is configured">
            Name one under <Code>mcpServers</Code> of the configuration, as other MCP clients do.
          </Empty>
        ) : (
          <Empty title="There is no server that your tenant uses">
            One is listed here when its tools have joined and your tenant may use some.
          </Empty>
        ))}
      {data !== undefined && data.servers.length > 0 && (
        <ul aria-label="MCP servers" className="grid grid-cols-1 gap-3">
          {data.servers.map((server) => (
            <McpServer key={server.name} server={server} mayReconnect={seesAll} />
          ))}
        </ul>
      )}
    </Section>
  )
}
