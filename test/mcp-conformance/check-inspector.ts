import assert from 'node:assert/strict'
import { execFile, type PromiseWithChild } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { browse } from '../../src/mcp/oauth/fixtures/authorization-server.ts'
import { openIssuer } from '../../src/server/fixtures/open-issuer.ts'
import { openTestServer } from '../../src/server/fixtures/open-server.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const PROGRAM = here('suite/node_modules/.bin/mcp-inspector')
const SIGN_IN_PAGE = /http:\S+\/auth\?\S+/

/** Runs the inspector's command line. It keeps its settings in the home folder. */
async function withInspector(work: (inspect: (...args: string[]) => Inspection) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'toolyard-inspector-'))
  // Without a terminal, it asks users to sign in only if it may open a browser. Without a display, it opens none.
  const more = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'memory', DISPLAY: '', WAYLAND_DISPLAY: '' }
  const env = { ...process.env, HOME: home, ...more }
  try {
    await work((...args) => promisify(execFile)(PROGRAM, ['--cli', ...args], { env }))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

type Inspection = PromiseWithChild<{ stdout: string; stderr: string }>

/** Lists the tools and calls one with the inspector's command line, over standard input and output or over HTTP. */
export const checkInspector = (target: readonly string[]): Promise<void> =>
  withInspector(async (inspect) => {
    const { tools } = JSON.parse((await inspect(...target, '--method', 'tools/list')).stdout)
    assert.ok(tools.some((tool: { name: string }) => tool.name === 'json_schema_2020_12_tool'))
    const { stdout } = await inspect(...target, '--method', 'tools/call', '--tool-name', 'test_simple_text')
    const text = 'This is a simple text response for testing.'
    assert.deepEqual(JSON.parse(stdout).content, [{ type: 'text', text }])
  })

/** The inspector knows nothing but the address: it finds the issuer, registers itself and lets its user sign in. */
export async function checkInspectorSignIn(): Promise<void> {
  const issuer = await openIssuer()
  const [roles, tools] = [{ owner: { scopes: ['read' as const] } }, { enabled: true, registry: [GREETING] }]
  const server = await openTestServer({ roles, tools, auth: { oidc: issuer.settings } })
  issuer.serves(server.url)
  try {
    for (const era of ['legacy', 'modern']) {
      await withInspector(async (inspect) => {
        const call = ['--method', 'tools/call', '--tool-name', GREETING.name, '--protocol-era', era]
        const answer = inspect(`${server.url}/mcp`, ...call)
        let said = ''
        answer.child.stderr?.on('data', (chunk) => {
          const isKnown = SIGN_IN_PAGE.test(said)
          said += chunk
          const [page] = (!isKnown && SIGN_IN_PAGE.exec(said)) || []
          if (page !== undefined) void browse(page)
        })
        assert.deepEqual(JSON.parse((await answer).stdout).content, [{ type: 'text', text: 'hello' }])
        assert.match(said, /Authorization complete/)
      })
    }
  } finally {
    await server.close()
    await issuer.close()
  }
}

const GREETING = {
  name: 'greet',
  description: 'Greets.',
  parameters: { type: 'object' as const, properties: {} },
  implementation: { type: 'mock', mock_response: 'hello' },
}

/** How the inspector starts our server by itself. */
export const stdioTarget: readonly string[] = [process.execPath, '-C', 'toolyard-source', here('serve.ts')]
