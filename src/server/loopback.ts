const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(?::\d{1,5})?$/i

/** Whether a Host header names this machine, with any port: localhost, what ends in it, 127.0.0.0/8 and [::1]. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)

/** Whether only this machine can reach a server that is bound to the address. */
export const isLoopbackAddress = (address: string): boolean =>
  isLoopbackHost(address.includes(':') ? `[${address}]` : address)
