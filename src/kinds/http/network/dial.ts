import type { Socket } from 'node:net'
import { buildConnector } from 'undici'

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
export type Dial = (target: DialTarget) => Promise<Socket>

const TIMEOUT_MS = 10_000
/** Long enough for any working route, and no great loss where a family of addresses leads nowhere. */
const NEXT_AFTER_MS = 1_000

/** The dialer that really connects. Certificates are checked, whatever the environment says. */
export function socketDial(): Dial {
  const patient = connector(TIMEOUT_MS)
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
