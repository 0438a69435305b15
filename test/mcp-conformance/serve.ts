// Serves the fixtures on a port, or without one on standard input and output.
import { serveHttp } from '../../src/mcp/server/fixtures/serve-http.ts'
import { serveStdio } from '../../src/mcp/server/serve-stdio.ts'
import { fixtureServer } from './fixture-server.ts'

const { server, close } = await fixtureServer()
if (process.argv[2] === undefined) {
  await serveStdio(server).closed
  await close()
} else {
  const { url } = await serveHttp(server, { port: Number(process.argv[2]) })
  console.log(url)
}
