import { Writable } from 'node:stream'

/** A standard output that belongs to a protocol, and the way to give it back. */
export interface TakenOutput {
  readonly output: Writable
  release(): void
}

/**
 * Keeps a stream for what is written to `output`: all else that is printed on it (`console.log`, `process.stdout.write`)
 * goes to `aside`.
 */
export function takeOverStdout(stdout: Writable, aside: Writable): TakenOutput {
  const write = stdout.write
  const output = new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => void write.call(stdout, chunk, encoding, done),
  })
  // A client that has gone away makes this an error of the stream, too: without a listener it would end the process.
  const ignore = (): void => {}
  stdout.on('error', ignore)
  stdout.write = aside.write.bind(aside) as typeof stdout.write
  return {
    output,
    release: () => {
      stdout.write = write
      stdout.off('error', ignore)
    },
  }
}
