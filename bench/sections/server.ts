import { measureInChild } from '../child.ts'
import { count, figure, withRange } from '../figures.ts'
import type { HttpServer } from '../http/http-server.ts'
import { httpServers } from '../http/servers/index.ts'
import { inRounds, type Measured } from '../in-rounds.ts'
import type { AtHalfLoad, HttpBatch, HttpResult } from '../measures/http.ts'
import type { Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const CONNECTIONS = 64
const FULL = { rounds: 7, warmRequests: 40_000, pairs: 4, batchMs: 1_200, pacedPairs: 2, pacedMs: 2_500 }
const QUICK = { rounds: 1, warmRequests: 10_000, pairs: 2, batchMs: 500, pacedPairs: 1, pacedMs: 1_000 }

/** What the whole server costs beside a handler that has nothing but what a call needs. */
export const server: Section = {
  id: 'server',
  title: 'The server',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const measured = await inRounds(httpServers, rounds, effort.progress, ({ id }) =>
      measureInChild<HttpResult>('http', { id, connections: CONNECTIONS, ...settings }),
    )
    return {
      raw: measured.map(({ contender: { id }, rounds }) => ({ id, rounds })),
      markdown:
        `${CONNECTIONS} clients. Each sends its next request as soon as it has the response, over a persistent ` +
        'connection unless the table says otherwise; then the bare handler gets a connection per request too.\n\n' +
        `${full(measured)}\n\n` +
        'A fixed rate of requests. Times count from when a request was due, and are compared with those of the bare ' +
        `handler at half of what it can serve.\n\n` +
        paced(measured.filter(({ contender }) => contender.paced)),
    }
  },
}

type Found = readonly Measured<HttpServer, HttpResult>[]

function full(measured: Found): string {
  const rows = measured.map(({ contender: { name, asked }, rounds }) => {
    const pairs = rounds.flatMap((round) => round.full)
    const middle = (key: keyof HttpBatch) => figure(median(pairs.map(({ server }) => server[key])))
    // The median of each round first: a round is what ranges are told of.
    const ratio = (key: keyof HttpBatch) =>
      withRange(spread(rounds.map((round) => median(round.full.map(({ base, server }) => server[key] / base[key])))))
    return [
      name,
      `\`${asked}\``,
      middle('perSecond'),
      ratio('perSecond'),
      middle('cpuUs'),
      ratio('cpuUs'),
      middle('mainUs'),
      ratio('mainUs'),
    ]
  })
  const header = ['server', 'what is asked', 'requests/s', '× bare', 'CPU µs', '× bare', 'main thread µs', '× bare']
  return table(header, rows)
}

function paced(measured: Found): string {
  const row = ({ contender: { name, asked }, rounds }: Found[number], load: keyof AtHalfLoad) => {
    const pairs = rounds.flatMap((round) => round.paced)
    const ms = (key: 'p50' | 'p99') => figure(median(pairs.map(({ server }) => server[load][key])))
    const ratios = rounds.map((round) =>
      median(round.paced.map(({ base, server }) => server[load].p99 / base[load].p99)),
    )
    return [
      name,
      `\`${asked}\``,
      load === 'bare' ? 'what bare can serve' : 'what it can serve',
      count(Math.round(median(rounds.map(({ rates }) => rates[load])))),
      ms('p50'),
      ms('p99'),
      withRange(spread(ratios)),
    ]
  }
  const rows = measured.flatMap((found) => [row(found, 'bare'), row(found, 'own')])
  return table(['server', 'what is asked', 'half of', 'requests/s', 'p50 ms', 'p99 ms', 'p99 × bare'], rows)
}
