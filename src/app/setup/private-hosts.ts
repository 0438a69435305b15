import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Config } from '../../config/config.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { AddressRules } from '../../kinds/http/network/address-rules.ts'
import { hostName } from '../../kinds/http/network/network-rules.ts'
import { SetupError } from './setup-error.ts'

/** A host of new tools that the network policy blocks, and that the change may allow. */
export interface PrivateHost {
  readonly host: string
  /** What `http.allow_private` needs. */
  readonly addresses: readonly string[]
}

/** The hosts of tools that a change may allow. Throws if it allows others. */
export async function allowedHosts(tools: readonly object[], allowed: readonly string[], http: Config['http']) {
  const hosts = await privateHosts(tools.flatMap(urlOf), http)
  const possible = new Set(hosts.flatMap(({ addresses }) => addresses))
  const odd = allowed.find((address) => !possible.has(address))
  if (odd !== undefined) {
    const shown = JSON.stringify(odd.slice(0, 80))
    throw new SetupError(
      422,
      `${shown} can't be allowed here: it isn't a loopback or private address in the URL of a tool of this change, or it is allowed already`,
    )
  }
  const added = [...new Set(allowed)]
  const missing = hosts.filter(({ addresses }) => addresses.some((address) => !added.includes(address)))
  // The check of the tools reports addresses, and looks up no names.
  return { hosts, added, warnings: missing.filter(({ host }) => isIP(host) === 0).map(({ host }) => blocked(host)) }
}

const blocked = (host: string): string =>
  `Tools cannot reach the host '${host}' yet: it resolves to a loopback address, and http.allow_private doesn't list it.`

/** The addresses that requests to these URLs need and that aren't allowed. */
export const privateAddresses = async (urls: readonly string[], http: Config['http']): Promise<string[]> =>
  (await privateHosts(urls, http)).flatMap(({ addresses }) => addresses)

/** Of names, only that of this machine: what others resolve to may be a secret of the operator's network. */
async function privateHosts(urls: readonly string[], http: Config['http']): Promise<PrivateHost[]> {
  const rules = new AddressRules(http?.allow_private)
  const hosts = new Set(urls.map((url) => hostName(URL.parse(url)?.hostname ?? '') ?? ''))
  const found = await Promise.all(
    [...hosts].map(async (host) => {
      const known = host === 'localhost' ? await lookup(host, { all: true }).catch(() => []) : [{ address: host }]
      return { host, addresses: known.map(({ address }) => address).filter((address) => rules.isAllowable(address)) }
    }),
  )
  return found.filter(({ addresses }) => addresses.length > 0)
}

function urlOf(tool: object): string[] {
  const { implementation } = tool as { readonly implementation?: unknown }
  return isObject(implementation) && typeof implementation.url === 'string' ? [implementation.url] : []
}
