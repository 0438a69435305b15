import type { Command } from 'commander'
import type { Terminal } from './terminal.ts'

const HELP = `
Servers are those of mcpServers in the configuration.

Examples:
  $ toolyard mcp list                                    what there is, and what each server offers
  $ toolyard mcp test memory                             why it does not work
  $ toolyard mcp call memory search_nodes query=Ada      one call, as exec makes it
  $ toolyard mcp serve                                   be a server, over stdin and stdout`

/** `toolyard mcp …`. */
export function addMcpCommands(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const mcp = program
    .command('mcp')
    .description('MCP servers: look at them, call their tools, be one')
    .addHelpText('after', HELP)

  mcp
    .command('list')
    .description('list the servers: state, tools, resources and prompts')
    .action(async (_, command: Command) => {
      const { mcpList } = await import('./commands/mcp-list.ts')
      done(await mcpList(terminal, command.optsWithGlobals()))
    })

  mcp
    .command('test')
    .description('say step by step what works with a server')
    .argument('<server>', 'its name in mcpServers')
    .action(async (server: string, _, command: Command) => {
      const { mcpTest } = await import('./commands/mcp-test.ts')
      done(await mcpTest(terminal, server, command.optsWithGlobals()))
    })

  mcp
    .command('call')
    .description('run a tool of a server and print its result')
    .argument('<server>', 'its name in mcpServers')
    .argument('<tool>', 'what the server calls the tool')
    .argument('[params...]', 'a JSON object, - for stdin, or key=value pairs')
    .option('--timeout <ms>', 'how long the call may take, from 1000 to 60000')
    .action(async (server: string, tool: string, params: string[], _, command: Command) => {
      const { mcpCall } = await import('./commands/mcp-call.ts')
      done(await mcpCall(terminal, server, tool, params, command.optsWithGlobals()))
    })

  mcp
    .command('read')
    .description('print a resource of a server')
    .argument('<server>', 'its name in mcpServers')
    .argument('<uri>', 'the address of the resource')
    .action(async (server: string, uri: string, _, command: Command) => {
      const { mcpRead } = await import('./commands/mcp-read.ts')
      done(await mcpRead(terminal, server, uri, command.optsWithGlobals()))
    })

  mcp
    .command('approve')
    .description('show what has changed since a server was pinned, and admit it')
    .argument('<server>', 'its name in mcpServers')
    .action(async (server: string, _, command: Command) => {
      const { mcpApprove } = await import('./commands/mcp-approve.ts')
      done(await mcpApprove(terminal, server, command.optsWithGlobals()))
    })

  mcp
    .command('login')
    .description('get tokens for a server over HTTP that wants authorization')
    .argument('<server>', 'its name in mcpServers')
    .argument('[answer]', 'without a terminal: the address that the browser ended at')
    .action(async (server: string, answer: string | undefined, _, command: Command) => {
      const { mcpLogin } = await import('./commands/mcp-login.ts')
      done(await mcpLogin(terminal, server, answer, command.optsWithGlobals()))
    })

  mcp
    .command('logout')
    .description('forget the tokens for a server')
    .argument('<server>', 'its name in mcpServers')
    .action(async (server: string, _, command: Command) => {
      const { mcpLogout } = await import('./commands/mcp-logout.ts')
      done(await mcpLogout(terminal, server, command.optsWithGlobals()))
    })

  mcp
    .command('serve')
    .description('serve every permitted tool over MCP, on stdin and stdout or over HTTP')
    .option('--http [port]', 'over streamable HTTP on 127.0.0.1; else 4747')
    .action(async (_, command: Command) => {
      const { mcpServe } = await import('./commands/mcp-serve.ts')
      done(await mcpServe(terminal, command.optsWithGlobals()))
    })
}
