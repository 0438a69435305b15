import type { Log } from 'toolyard'

/** A log for people: the sentences alone, on stderr; those for debugging only with `TOOLYARD_LOG=debug`. */
export function consoleLog(write = (line: string): void => void process.stderr.write(`${line}\n`)): Log {
  const debug = process.env.TOOLYARD_LOG === 'debug'
  // One record a line, whatever is in it.
  const say = (_fields: object, message: string): void => write(message.replaceAll(/\p{Cc}+/gu, ' '))
  return {
    debug: debug ? say : () => {},
    info: debug ? say : () => {},
    warn: say,
    error: say,
    isLevelEnabled: (level) => debug || level === 'warn' || level === 'error',
  }
}
