import { describe, test } from 'vitest'

describe('MCP client', () => {
  test.todo('servers from the usual mcpServers configuration (stdio and streamable HTTP)')
  test.todo('their tools are discovered and join the registry')
  test.todo("changes to a server's list are followed")
  test.todo('connection: 3 attempts with delays 0, 2 s, 4 s')
  test.todo('connection: each attempt logged with number and delay')
  test.todo('connection: MCP connection succeeded on attempt 2')
  test.todo('final failure: MCP connection failed after 3 attempts, then lines Reason, MCP Server stderr, Check')
  test.todo('Continuing with local tools only; and it does')
  test.todo('final failure: afterwards it is tried again in the background')
  test.todo('connecting never holds up what does not need it')
  test.todo("a line on the server's stdout that is not JSON-RPC is reported with its content")
  test.todo('the next message is handled as usual')
  test.todo('a server that dies in mid-use is reconnected')
  test.todo('calls meanwhile fail cleanly')
  test.todo('errors from the server reach the caller unchanged')
})
