import { setTimeout as pause } from 'node:timers/promises'
import type { Serving } from '../http/http-server.ts'
import { LoadGenerator } from '../http/load-generator.ts'
import type { LoadOrder, LoadResult } from '../http/load-order.ts'
import { bare } from '../http/servers/bare.ts'
import { httpServers } from '../http/servers/index.ts'
import { median } from '../statistics.ts'

export interface HttpOptions {
  readonly id: string
  readonly connections: number
  /** Made before anything is measured: a busy machine takes long to compile what answers them. */
  readonly warmRequests: number
  readonly pairs: number
  readonly batchMs: number
  readonly pacedPairs: number
  readonly pacedMs: number
}

/** One batch against one server. */
export interface HttpBatch {
  readonly perSecond: number
  readonly cpuUs: number
  readonly mainUs: number
}

export interface HttpResult {
  readonly full: readonly { readonly base: HttpBatch; readonly server: HttpBatch }[]
  /** Empty where times at a fixed rate were not asked for. */
  readonly paced: readonly { readonly base: AtHalfLoad; readonly server: AtHalfLoad }[]
  /** Requests a second in `paced`. */
  readonly rates: Readonly<Record<keyof AtHalfLoad, number>>
}

/** At half of what the bare server can serve, and at half of what the server itself can. */
export interface AtHalfLoad {
  readonly bare: LoadResult
  readonly own: LoadResult
}

/** What a server does behind the answers, writing records down, counts as well: it is waited for. */
const BEHIND_MS = 300
const WARM_MS = 1_000

/** One server against the bare one, each in a process of its own, in turns; who asks is a third process. */
export async function http(options: HttpOptions): Promise<HttpResult> {
  const contender = httpServers.find(({ id }) => id === options.id)
  if (contender === undefined) throw new Error(`There is no server '${options.id}'.`)
  const started: Serving[] = []
  const load = new LoadGenerator()
  try {
    for (const each of [bare, contender]) started.push(await each.start())
    const [base, server] = started.map((serving) => new Asked(serving, load, options, contender.fresh)) as [
      Asked,
      Asked,
    ]
    for (const each of [base, server]) await each.warmUp(options.warmRequests / contender.weight)
    const full = await inTurns(options.pairs, base, server, (each) => each.batch(options.batchMs))
    const half = (of: 'base' | 'server') => Math.round(median(full.map((pair) => pair[of].perSecond)) / 2)
    const rates = { bare: half('base'), own: half('server') }
    const pacedPairs = contender.paced ? options.pacedPairs : 0
    const paced = await inTurns(pacedPairs, base, server, async (each) => ({
      bare: await each.load({ ms: options.pacedMs, rate: rates.bare }),
      own: await each.load({ ms: options.pacedMs, rate: each === base ? rates.bare : rates.own }),
    }))
    await server.check()
    return { full, paced, rates }
  } finally {
    load.close()
    await Promise.all(started.map((each) => each.close()))
  }
}

/** Both see the same seconds of a noisy machine; who goes first alternates. */
async function inTurns<Result>(pairs: number, base: Asked, server: Asked, measure: (each: Asked) => Promise<Result>) {
  const found: { base: Result; server: Result }[] = []
  for (let pair = 0; pair < pairs; pair++) {
    if (pair % 2 === 0) found.push({ base: await measure(base), server: await measure(server) })
    else {
      const first = await measure(server)
      found.push({ base: await measure(base), server: first })
    }
  }
  return found
}

class Asked {
  readonly #serving: Serving
  readonly #load: LoadGenerator
  readonly #connections: number
  readonly #fresh: boolean
  #requests = 0

  constructor(serving: Serving, load: LoadGenerator, { connections }: HttpOptions, fresh = false) {
    this.#fresh = fresh
    this.#serving = serving
    this.#load = load
    this.#connections = connections
  }

  async load(order: Pick<LoadOrder, 'ms' | 'rate'>): Promise<LoadResult> {
    const { server, request } = this.#serving
    const where = { port: server.port, connections: this.#connections, fresh: this.#fresh }
    const result = await this.#load.load({ ...request, ...order, ...where })
    this.#requests += result.requests
    await pause(BEHIND_MS)
    return result
  }

  async batch(ms: number): Promise<HttpBatch> {
    const { server } = this.#serving
    const before = await server.usage()
    const result = await this.load({ ms })
    const after = await server.usage()
    return {
      perSecond: (result.requests * 1000) / result.ms,
      cpuUs: (after.cpuUs - before.cpuUs) / result.requests,
      mainUs: (after.mainUs - before.mainUs) / result.requests,
    }
  }

  async warmUp(requests: number): Promise<void> {
    while (this.#requests < requests) await this.load({ ms: WARM_MS })
  }

  check(): Promise<void> {
    return this.#serving.check(this.#requests)
  }
}
