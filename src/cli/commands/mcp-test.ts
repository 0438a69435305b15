import type { Client } from '@modelcontextprotocol/client'
import { ConnectFailure } from '../../mcp/client/connect-failure.ts'
import { connectFailure } from '../../mcp/client/connect-reason.ts'
import { listAll } from '../../mcp/client/list-all.ts'
import { failureLines } from '../failure-lines.ts'
import type { GlobalOptions } from '../global-options.ts'
import { type OpenServer, openServer } from '../open.ts'
import { printableLine } from '../printable.ts'
import { serverContents } from '../server-contents.ts'
import type { Terminal } from '../terminal.ts'

interface Step {
  readonly step: string
  readonly ok: boolean
  readonly detail: string
}

/** One attempt, and each list, may take so long. */
const PATIENCE_MS = 60_000

/** `toolyard mcp test`: says step by step what works with a server; 1 where something does not. */
export async function mcpTest(terminal: Terminal, server: string, options: GlobalOptions): Promise<number> {
  const opened = await openServer(terminal, server, options)
  const steps: Step[] = []
  let failure: ConnectFailure | undefined
  const add = (step: string, ok: boolean, detail: string) => {
    steps.push({ step, ok, detail })
    if (terminal.json) return
    const mark = ok ? terminal.style('green', '✓') : terminal.style('red', '✗')
    terminal.result(`${mark} ${step.padEnd(13)}  ${printableLine(detail)}`)
  }
  const { name } = opened.connection.settings
  try {
    add('configuration', true, reachOf(opened))
    const client = await connect(opened, add)
    if (client instanceof ConnectFailure) failure = client
    else await lookAround(opened, client, add)
    if (terminal.json) {
      const { reason, stderr, check } = failure ?? {}
      terminal.document({ server: name, ok: steps.every(({ ok }) => ok), steps, reason, stderr, check })
    } else for (const line of failure ? failureLines(failure) : []) terminal.result(`  ${line}`)
    return steps.every(({ ok }) => ok) ? 0 : 1
  } finally {
    await opened.close()
  }
}

type Add = (step: string, ok: boolean, detail: string) => void

async function connect({ connection }: OpenServer, add: Add): Promise<Client | ConnectFailure> {
  const began = performance.now()
  try {
    const client = await connection.client(AbortSignal.timeout(PATIENCE_MS))
    const { name = 'a server', version = '' } = client.getServerVersion() ?? {}
    const took = Math.round(performance.now() - began)
    add('connection', true, `${name} ${version}, protocol ${client.getNegotiatedProtocolVersion()}, ${took} ms`)
    return client
  } catch (error) {
    add('connection', false, 'it could not be made')
    return connectFailure(connection.settings, error, '')
  }
}

async function lookAround({ connection, manager }: OpenServer, client: Client, add: Add): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS)
  const has = client.getServerCapabilities() ?? {}
  try {
    if (has.tools === undefined) add('tools', true, 'it has none')
    else {
      const listed = await listAll(client, 'tools/list', 'tools', signal)
      const taken = manager.getMcpServers().tools(connection.settings.name)
      const lost = listed.length - taken.length
      const left = lost === 0 ? '' : `; ${lost} more left out: "toolyard mcp approve" or --verbose says why`
      add('tools', true, `${taken.length}: ${taken.map((tool) => tool.name).join(', ')}${left}`)
    }
    const { resources, resource_templates, prompts } = await serverContents(client, signal)
    if (has.resources !== undefined) add('resources', true, `${resources.length + resource_templates.length}`)
    if (has.prompts !== undefined) add('prompts', true, prompts.map(({ name }) => name).join(', '))
  } catch (error) {
    add('lists', false, error instanceof Error ? error.message : String(error))
  }
}

/** How it is reached; arguments and addresses may hold secrets. */
function reachOf({ connection: { settings } }: OpenServer): string {
  const { reach } = settings
  return reach.type === 'stdio' ? `starts "${reach.command}"` : `asks ${new URL(reach.url).host} (${reach.type})`
}
