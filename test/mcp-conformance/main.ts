// Runs the public conformance suite of MCP against our server and our client, and prints a table of each; `--only server`
// and `--only client` run one of them.
import { parseArgs } from 'node:util'
import { serveHttp } from '../../src/mcp/server/fixtures/serve-http.ts'
import { checkClient } from './check-client.ts'
import { checkContent } from './check-content.ts'
import { checkInspector, checkInspectorSignIn, stdioTarget } from './check-inspector.ts'
import { fixtureServer } from './fixture-server.ts'
import { runSuite } from './run-suite.ts'
import { readSummary } from './summary.ts'

/** The runs, and what the server of the SDK's authors reaches in them. */
const RUNS = [
  { version: '0.1.16', folder: 'conformance-0.1', args: ['--suite', 'all'], reference: 32 },
  {
    version: '0.2.0-alpha.12',
    folder: '@modelcontextprotocol/conformance',
    args: ['--requirements', '2025-11-25'],
    reference: 30,
  },
  {
    version: '0.2.0-alpha.12',
    folder: '@modelcontextprotocol/conformance',
    args: ['--requirements', '2026-07-28'],
    reference: 37,
  },
] as const

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values
let wrong = 0
if (only !== 'client') await checkServer()
if (only !== 'server') wrong += await checkClient()
process.exitCode = wrong === 0 ? 0 : 1

async function checkServer(): Promise<void> {
  const { server, close } = await fixtureServer()
  const { url, close: stop } = await serveHttp(server, { port: 0 })
  try {
    console.log('| server: suite | passed | reference | passed without a check |\n| --- | --- | --- | --- |')
    for (const { version, folder, args, reference } of RUNS) {
      const { printed } = await runSuite(folder, ['server', '--url', url, ...args])
      const { scored, empty, failing } = readSummary(printed)
      const passed = scored.size - failing.length
      const name = `conformance ${version} \`${args.join(' ')}\``
      console.log(`| ${name} | ${passed}/${scored.size} | ${reference}/${reference} | ${empty.join(', ') || 'none'} |`)
      if (passed === reference && failing.length === 0) continue
      wrong++
      console.error(`${printed}\n${name}: ${failing.join(', ') || 'not all scenarios ran'}`)
    }
    await check('content of the answers, client of an older era', () => checkContent(url, 'legacy'))
    await check('content of the answers, client of the stateless era', () => checkContent(url, 'auto'))
    await check('mcp-inspector over HTTP', () => checkInspector([url]))
    await check('mcp-inspector over standard input and output', () => checkInspector(stdioTarget))
    await check('mcp-inspector signs in', checkInspectorSignIn)
  } finally {
    await stop()
    await close()
  }
}

async function check(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
    console.log(`| ${name} | passed | | |`)
  } catch (error) {
    wrong++
    console.log(`| ${name} | failed | | |`)
    console.error(error)
  }
}
