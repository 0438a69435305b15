import { Socket } from 'node:net'

// Tests talk to this machine only. A test that dials anything else fails, on a machine with a network and without.
const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/

const connect = Socket.prototype.connect

const refuse = (host: string): never => {
  throw new Error(`A test tried to connect to "${host}"; tests may talk to 127.0.0.1, ::1 and localhost only.`)
}

function guardedConnect(this: Socket, ...args: unknown[]): Socket {
  // Node calls itself with the arguments already gathered in one array.
  const [target, second] = Array.isArray(args[0]) ? args[0] : args
  const host = typeof target === 'object' && target !== null ? Reflect.get(target, 'host') : second
  if (typeof host === 'string' && !LOOPBACK.test(host)) refuse(host)
  return Reflect.apply(connect, this, args)
}

Socket.prototype.connect = guardedConnect as typeof connect
