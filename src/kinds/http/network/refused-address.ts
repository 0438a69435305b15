import { isIP } from 'node:net'

/** Why a host was not connected to, and what to do if it was meant; names no address but one that stands in the URL. */
export const addressRefusal = (host: string, what: string): string =>
  isIP(host) === 0
    ? `The host '${host}' was refused: it leads to ${what}. If tools are meant to reach it, add its address to http.allow_private.`
    : `The host '${host}' was refused: it is ${what}. If tools are meant to reach it, add "${host}" to http.allow_private.`

/** Thrown instead of connecting to an address that tools may not reach; trying again cannot help. */
export class RefusedAddress extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED'

  constructor(host: string, what: string) {
    super(addressRefusal(host, what))
    this.name = 'RefusedAddress'
  }
}

const MOST_CAUSES = 8

/** The refusal behind an error, whoever wrapped it. */
export function refusedAddress(error: unknown): RefusedAddress | undefined {
  let looked: unknown = error
  for (let left = MOST_CAUSES; left > 0 && looked instanceof Error; left--) {
    if (looked instanceof RefusedAddress) return looked
    looked = looked.cause
  }
  return undefined
}
