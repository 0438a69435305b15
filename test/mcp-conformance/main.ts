// Runs the public conformance suite of MCP and the inspector against our server, and prints a table.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { serveHttp } from '../../src/mcp/server/http/serve-http.ts'
import { checkContent } from './check-content.ts'
import { checkInspector, stdioTarget } from './check-inspector.ts'
import { fixtureServer } from './fixture-server.ts'
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

const { server, close } = await fixtureServer()
const { url, close: stop } = await serveHttp(server, { port: 0 })
let wrong = 0
try {
  console.log('| suite | passed | reference | passed without a check |\n| --- | --- | --- | --- |')
  for (const { version, folder, args, reference } of RUNS) {
    const printed = await conformance(folder, args)
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
} finally {
  await stop()
  await close()
}
process.exitCode = wrong === 0 ? 0 : 1

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

/** What a run prints. */
function conformance(folder: string, args: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL(`suite/node_modules/${folder}/dist/index.js`, import.meta.url))
  const child = spawn(process.execPath, [program, 'server', '--url', url, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    child.on('error', reject)
    child.on('close', () => resolve(printed))
  })
}
