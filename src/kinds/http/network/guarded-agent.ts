import { lookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { Agent, buildConnector, errors } from 'undici'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { connectionCode, mayHaveLeft } from '../../../core/network-code.ts'
import type { AddressRules } from './address-rules.ts'
import { RefusedAddress } from './network-rules.ts'

/** What an agent is made of; tests put in parts that record. */
export interface AgentParts {
  readonly lookup?: Lookup
  readonly dial?: Dial
  readonly clock?: Clock
}

const MOST_ADDRESSES_TRIED = 4

const BOUNDS = {
  connections: 128,
  maxOrigins: 1_000,
  maxHeaderSize: 16_384,
  pipelining: 1,
  keepAliveMaxTimeout: 60_000,
  // The dialer speaks HTTP/1.1 only; not knowing that, a pool would open its first connections one after the other.
  allowH2: false,
} as const

/**
 * An agent that connects to no address that the rules refuse. Each new connection is to an address that was checked a
 * moment before, so that a name cannot be checked with one address and dialled with another.
 */
export function guardedAgent(addresses: AddressRules, parts: AgentParts = {}): Agent {
  const names = new NameLookup(parts.lookup ?? systemLookup, parts.clock ?? systemClock)
  const dial = parts.dial ?? socketDial()
  const open = async ({ hostname, port, protocol }: buildConnector.Options): Promise<Socket> => {
    const isName = isIP(hostname) === 0
    const found = isName ? await names.find(hostname) : [hostname]
    for (const address of found) {
      const what = addresses.refusal(address)
      if (what !== undefined) throw new RefusedAddress(hostname, what)
    }
    // The certificate must be for the host of the URL, not for what a `host` header says.
    const end = isName ? { port, protocol, servername: hostname.replace(/\.$/, '') } : { port, protocol }
    return dialInTurn(found, end, dial)
  }
  return new Agent({
    ...BOUNDS,
    connect: (asked, callback) => {
      open(asked).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      )
    },
  })
}

/** The next address is tried where one cannot be reached; where one answers badly, another would not be better. */
async function dialInTurn(
  addresses: readonly string[],
  end: Pick<DialTarget, 'port' | 'protocol' | 'servername'>,
  dial: Dial,
): Promise<Socket> {
  const tried = alternating(addresses).slice(0, MOST_ADDRESSES_TRIED)
  let failure: unknown
  for (const [index, address] of tried.entries()) {
    try {
      return await dial({ ...end, address, hasNext: index < tried.length - 1 })
    } catch (error) {
      failure = error
      const code = connectionCode(error)
      if (code === undefined || mayHaveLeft(code)) break
    }
  }
  throw failure
}

/** One family, then the other: where one leads nowhere, it costs one attempt and not all of them. */
function alternating(addresses: readonly string[]): readonly string[] {
  const seen = [0, 0]
  const turns = addresses.map((address) => {
    const family = isIP(address) === 4 ? 0 : 1
    const turn = seen[family] ?? 0
    seen[family] = turn + 1
    return { address, turn }
  })
  return turns.sort((one, other) => one.turn - other.turn).map(({ address }) => address)
}

/** Where one connection goes: to an address that was checked, never to a name. */
export interface DialTarget {
  readonly address: string
  readonly port: string
  readonly protocol: string
  /** The name that the certificate must be for; none where the URL has an address. */
  readonly servername?: string
  /** Whether there is another address to try. */
  readonly hasNext: boolean
}

/** Opens a connection, encrypted where the protocol says so. */
type Dial = (target: DialTarget) => Promise<Socket>

const CONNECT_TIMEOUT_MS = 10_000
/** Long enough for any working route, and no great loss where a family of addresses leads nowhere. */
const NEXT_AFTER_MS = 1_000

/** The dialer that really connects. Certificates are checked, whatever the environment says. */
export function socketDial(): Dial {
  const patient = connector(CONNECT_TIMEOUT_MS)
  const hasty = connector(NEXT_AFTER_MS)
  return ({ address, port, protocol, servername, hasNext }) => {
    const connect = hasNext ? hasty : patient
    // For a plain connection the connector would take a server name for the host to dial.
    const name = protocol === 'https:' && servername !== undefined ? { servername } : {}
    return new Promise((resolve, reject) => {
      connect({ hostname: address, port, protocol, ...name }, (error, socket) =>
        error === null ? resolve(socket) : reject(error),
      )
    })
  }
}

/** HTTP/1.1 only: the headers of HTTP/2 are not bounded by the agent's `maxHeaderSize`. */
const connector = (timeout: number): buildConnector.connector =>
  buildConnector({ timeout, allowH2: false, rejectUnauthorized: true })

/** All addresses of a name. */
type Lookup = (hostname: string) => Promise<readonly string[]>

/** Asks as every other program on this machine does: the hosts file, then DNS, in the order that the system prefers. */
const systemLookup: Lookup = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

const LOOKUP_TIMEOUT_MS = 10_000

/**
 * Looks names up, each once at a time: the system answers few at a time, and many connections to one slow name would
 * keep all others waiting. Nothing is remembered once it is answered.
 */
class NameLookup {
  readonly #lookup: Lookup
  readonly #clock: Clock
  readonly #running = new Map<string, Promise<readonly string[]>>()

  constructor(lookup: Lookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
  }

  /** The addresses of a name, at least one; rejects with the resolver's own code. */
  find(hostname: string): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new errors.ConnectTimeoutError(`The name '${hostname}' was not found in time`))
      const cancel = this.#clock.after(LOOKUP_TIMEOUT_MS, late)
      this.#shared(hostname).then(resolve, reject).finally(cancel)
    })
  }

  #shared(hostname: string): Promise<readonly string[]> {
    const running = this.#running.get(hostname)
    if (running !== undefined) return running
    const started = this.#ask(hostname).finally(() => this.#running.delete(hostname))
    this.#running.set(hostname, started)
    return started
  }

  async #ask(hostname: string): Promise<readonly string[]> {
    const found = await this.#lookup(hostname)
    if (found.length > 0) return found
    throw Object.assign(new Error(`The name '${hostname}' has no address`), { code: 'ENOTFOUND' })
  }
}
