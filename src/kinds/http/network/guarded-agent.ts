import { isIP, type Socket } from 'node:net'
import { Agent, type buildConnector } from 'undici'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { connectionCode, mayHaveLeft } from '../../../core/network-code.ts'
import type { AddressRules } from './address-rules.ts'
import { type Dial, type DialTarget, socketDial } from './dial.ts'
import { type Lookup, NameLookup, systemLookup } from './name-lookup.ts'
import { RefusedAddress } from './refused-address.ts'

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
