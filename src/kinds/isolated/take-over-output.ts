import { Writable } from 'node:stream'

/** Sends what a handler prints to `onText` instead of the standard streams, which belong to the host. */
export function takeOverOutput(onText: (stream: string, text: string) => void): void {
  for (const stream of ['stdout', 'stderr']) {
    const sink = new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        onText(stream, String(chunk))
        done()
      },
    })
    Object.defineProperty(process, stream, { value: sink, writable: false, configurable: false })
  }
}
