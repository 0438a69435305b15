import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// Loading modules takes most of the time of a short command; compiled code halves it.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/toolyard', import.meta.url)))

// EPIPE means that the reader (`| head`) has seen enough. Any other write error, such as a full disk, is a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? process.exitCode : 1))
}

const { main } = await import('./main.ts')
const code = await main(process.argv.slice(2))
process.exitCode = code
// Exits although a handler may still be running after its call has ended. Node reports a failed write one turn after
// its callback, so the exit waits for that.
process.stdout.write('', () => process.stderr.write('', () => setImmediate(() => process.exit(code))))
