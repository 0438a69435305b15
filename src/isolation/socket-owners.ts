import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { isIPv4 } from 'node:net'

/** A connection as its client sees it: keys of a row in `/proc/net/tcp` or `/proc/net/tcp6`. */
export type ConnectionKeys = readonly string[]

/** A reading of the tables of this machine. */
export interface Question {
  readonly id: number
  /** The children that are running. */
  readonly pids: readonly number[]
  readonly connections: readonly ConnectionKeys[]
}

export interface Answer {
  readonly id: number
  /** For each connection, whether it may be a child's. */
  readonly fromChild: readonly boolean[]
}

/**
 * Whether each connection may be a child's. One counts as a child's if its socket is unknown: a child may have closed
 * it, or ended. The sockets of the children are read before the table, so that a child can't hide one by closing it in
 * between: it would be missing in the table.
 */
export function areFromChild({ pids, connections }: Omit<Question, 'id'>): boolean[] {
  const own = new Set<string>()
  let moreThanPipes = false
  for (const sockets of pids.map(socketsOf)) {
    for (const socket of sockets) own.add(socket)
    moreThanPipes ||= sockets.length > CHILD_PIPES && hasUnixSockets(sockets)
  }
  // A socket on its way through a Unix socket belongs to nobody.
  if (moreThanPipes) return connections.map(() => true)
  const inodes = clientInodes(connections)
  return connections.map((keys) => {
    const inode = keys.map((key) => inodes.get(key)).find((found) => found !== undefined)
    return inode === undefined || own.has(inode)
  })
}

/** Unix sockets that every child has: its stderr and its channel. */
const CHILD_PIPES = 2

function hasUnixSockets(sockets: readonly string[]): boolean {
  const rows = readFileSync('/proc/net/unix', 'latin1').split('\n')
  const unix = new Set(rows.map((row) => row.trim().split(/\s+/)[6] ?? ''))
  return sockets.filter((socket) => unix.has(socket)).length > CHILD_PIPES
}

/** The inodes of the sockets of a process; none if it has ended. */
function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => socketAt(`/proc/${pid}/fd/${fd}`) ?? [])
  } catch {
    return []
  }
}

function socketAt(path: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1]
  } catch {
    // Closed meanwhile.
    return undefined
  }
}

/** The inodes by key of the wanted connections that a process has open. */
function clientInodes(connections: readonly ConnectionKeys[]): Map<string, string> {
  const wanted = new Set(connections.flat())
  const inodes = new Map<string, string>()
  const isFound = (keys: ConnectionKeys): boolean => keys.length === 0 || keys.some((key) => inodes.has(key))
  // IPv4 connections have keys for both tables. While connections end, the kernel may leave out others: read twice.
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6', '/proc/net/tcp', '/proc/net/tcp6']) {
    if (!connections.every(isFound) && existsSync(table)) readTable(table, wanted, inodes)
  }
  return inodes
}

const BLOCK_BYTES = 65_536
/** What is beyond is not read: its connections count as a child's. */
const MAX_TABLE_BYTES = 64 * 1024 * 1024
const NEW_LINE = 10
const COLON = 58

function readTable(path: string, wanted: ReadonlySet<string>, inodes: Map<string, string>): void {
  const file = openSync(path, 'r')
  const block = Buffer.allocUnsafe(BLOCK_BYTES)
  try {
    let rest = 0
    for (let total = 0; total < MAX_TABLE_BYTES; ) {
      const read = readSync(file, block, rest, BLOCK_BYTES - rest, null)
      if (read === 0) break
      total += read
      const filled = block.subarray(0, rest + read)
      let start = 0
      for (let end = filled.indexOf(NEW_LINE); end !== -1; end = filled.indexOf(NEW_LINE, start)) {
        readRow(filled, start, end, wanted, inodes)
        start = end + 1
      }
      rest = filled.copy(block, 0, start)
    }
  } finally {
    closeSync(file)
  }
}

/**
 * Reads a row such as `  0: 0100007F:1F90 0100007F:A2C4 01 …`, in which the tenth column is the inode. Most rows are
 * closed connections in TIME_WAIT, which no process has: they are skipped before any text is made of them.
 */
function readRow(
  block: Buffer,
  start: number,
  end: number,
  wanted: ReadonlySet<string>,
  inodes: Map<string, string>,
): void {
  const number = block.indexOf(COLON, start)
  const local = block.indexOf(COLON, number + 1)
  if (number === -1 || local === -1 || local >= end) return
  // Both addresses have the same length, and both ports four digits.
  const addresses = number + 2
  const remoteEnd = local + 5 + (local - addresses) + 6
  if (block[remoteEnd - 5] !== COLON || isTimeWait(block, remoteEnd + 1)) return
  const key = block.toString('latin1', addresses, remoteEnd)
  if (!wanted.has(key)) return
  const inode = block.toString('latin1', remoteEnd, end).trim().split(/\s+/)[6]
  if (inode !== undefined && inode !== '0') inodes.set(key, inode)
}

const ZERO = 48
const SIX = 54
const isTimeWait = (block: Buffer, at: number): boolean => block[at] === ZERO && block[at + 1] === SIX

const MAPPED = '0000000000000000FFFF0000'

interface Endpoint {
  readonly address: string | undefined
  readonly port: number | undefined
}

/**
 * The keys of the row of a client: an IPv4 connection may be in either table. Empty for IPv6 addresses other than the
 * loopback address, which a server without keys doesn't have.
 */
export function connectionKeys(client: Endpoint, server: Endpoint): ConnectionKeys {
  const [from, to] = [inTable(client), inTable(server)]
  return from.flatMap((one, at) => (to[at] === undefined || one.length !== to[at].length ? [] : [`${one} ${to[at]}`]))
}

/** An address and port as in `/proc/net`: each 32 bits of the address are in the order of this machine. */
function inTable({ address = '', port = 0 }: Endpoint): string[] {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const hex = (bytes: readonly number[]): string => Buffer.from(bytes).toString('hex').toUpperCase()
  const end = `:${hex([port >> 8, port & 255])}`
  if (isIPv4(plain)) {
    const word = hex(plain.split('.').map(Number).reverse())
    return [`${word}${end}`, `${MAPPED}${word}${end}`]
  }
  return plain === '::1' ? [`${'0'.repeat(24)}01000000${end}`] : []
}
