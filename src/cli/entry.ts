import { readFileSync } from 'node:fs'
import { setGlobalProxyFromEnv } from 'node:http'
import { enableCompileCache } from 'node:module'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'

// Loading modules takes most of the time of a short command; compiled code halves it.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/toolyard', import.meta.url)))

// EPIPE means that the reader (`| head`) has seen enough. Any other write error, such as a full disk, is a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? process.exitCode : 1))
}

// Proxies and certificates of the environment, for our own requests.
const { HTTP_PROXY, HTTPS_PROXY, http_proxy, https_proxy, SSL_CERT_FILE } = process.env
if (HTTP_PROXY || HTTPS_PROXY || http_proxy || https_proxy) {
  const direct = [process.env.NO_PROXY ?? process.env.no_proxy ?? [], 'localhost,127.0.0.1,[::1]'].flat().join(',')
  setGlobalProxyFromEnv({ ...process.env, NO_PROXY: direct, no_proxy: direct })
}
if (SSL_CERT_FILE) {
  try {
    setDefaultCACertificates([...getCACertificates('default'), readFileSync(SSL_CERT_FILE, 'utf8')])
  } catch (error) {
    console.error(`SSL_CERT_FILE is ignored: ${error instanceof Error ? error.message : error}`)
  }
}

const { main } = await import('./main.ts')
const code = await main(process.argv.slice(2))
process.exitCode = code
// Exits although a handler may still be running after its call has ended. Node reports a failed write one turn after
// its callback, so the exit waits for that.
process.stdout.write('', () => process.stderr.write('', () => setImmediate(() => process.exit(code))))
