import type { Pairs } from '../batches.ts'
import { measureInChild } from '../child.ts'
import { figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import { clients } from '../mcp/clients/index.ts'
import { IN_FLIGHT } from '../mcp/in-flight.ts'
import { servers } from '../mcp/servers/index.ts'
import type { Effort, Finding, Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'
import { versionOf } from '../version-of.ts'

const FULL = { rounds: 3, pairs: 4, batchMs: 60, warmMs: 120, warmCalls: { stdio: 20_000, http: 2_000 } }
const QUICK = { rounds: 1, pairs: 2, batchMs: 30, warmMs: 80, warmCalls: { stdio: 2_000, http: 500 } }

const MEASURES = { stdio: 'mcp-client', http: 'mcp-server' }

interface Contender {
  readonly id: string
  readonly name: string
  readonly package?: string
  /** What is measured of it, in as many cells as the table has columns for. */
  readonly about: readonly string[]
  /** The one of the SDK that does the same; absent where there is none. */
  readonly sdk?: string
}

const CLIENTS: readonly Contender[] = clients.map((client) => ({
  ...client,
  about: [`\`${client.call}\``],
  ...(client.id !== 'raw-echo' && { sdk: 'sdk' }),
}))

const SDK_SERVERS = { session: 'sdk-json', stateless: 'sdk-stateless' }

const SERVERS: readonly Contender[] = servers.map((server) => ({
  ...server,
  about: [`\`${server.by}\``, server.era],
  ...(server.id !== 'raw-echo' && { sdk: SDK_SERVERS[server.era] }),
}))

/** What calling tools of MCP servers costs, and what serving them costs, beside the SDK itself. */
export const mcp: Section = {
  id: 'mcp',
  title: 'MCP',
  async run(effort) {
    const load = `${IN_FLIGHT} calls in flight`
    const stdio = await measured('stdio', CLIENTS, ['client over stdio', 'what is called'], effort)
    const http = await measured('http', SERVERS, ['server over HTTP', 'what answers', 'requests'], effort)
    return {
      raw: { stdio: stdio.raw, http: http.raw },
      markdown:
        `CPU time of the client's process for a call, with ${load}, all against the same server.\n\n${stdio.markdown}\n\n` +
        `CPU time of the server's process for a call, with ${load}, all called by the same client.\n\n${http.markdown}`,
    }
  },
}

async function measured(
  over: 'stdio' | 'http',
  contenders: readonly Contender[],
  header: readonly string[],
  effort: Effort,
): Promise<Finding> {
  const { rounds, warmCalls, ...settings } = effort.quick ? QUICK : FULL
  const progress = (line: string) => effort.progress(`${over}, ${line}`)
  const found = await inRounds(contenders, rounds, progress, ({ id }) =>
    measureInChild<Pairs>(MEASURES[over], { id, ...settings, warmCalls: warmCalls[over] }),
  )
  const ratios = (id: string) =>
    found.find(({ contender }) => contender.id === id)?.rounds.map(({ cpuRatio }) => cpuRatio) ?? []
  const rows = found.map(({ contender: { id, name, package: of, about, sdk }, rounds }) => {
    const against = sdk === undefined ? [] : ratios(sdk)
    return [
      `${name} ${versionOf(of)}`.trim(),
      ...about,
      figure(median(rounds.map(({ cpuUs }) => cpuUs))),
      withRange(spread(ratios(id))),
      // Both were held against the raw echo in the same round, which takes a slow minute of the machine out.
      sdk === undefined ? '–' : withRange(spread(ratios(id).map((ratio, round) => ratio / (against[round] ?? 0)))),
    ]
  })
  return {
    raw: found.map(({ contender: { id, package: of }, rounds }) => ({ id, version: versionOf(of), rounds })),
    markdown: table([...header, 'CPU µs', '× raw echo', '× SDK'], rows),
  }
}
