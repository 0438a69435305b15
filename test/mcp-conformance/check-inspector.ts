import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Lists the tools and calls one with the inspector's command line, over standard input and output or over HTTP. */
export async function checkInspector(target: readonly string[]): Promise<void> {
  // It keeps its settings in the home folder.
  const home = mkdtempSync(join(tmpdir(), 'toolyard-inspector-'))
  const inspect = async (...method: string[]) => {
    const program = here('suite/node_modules/.bin/mcp-inspector')
    const env = { ...process.env, HOME: home }
    const { stdout } = await promisify(execFile)(program, ['--cli', ...target, '--method', ...method], { env })
    return JSON.parse(stdout)
  }
  try {
    const { tools } = await inspect('tools/list')
    assert.ok(tools.some((tool: { name: string }) => tool.name === 'json_schema_2020_12_tool'))
    const { content } = await inspect('tools/call', '--tool-name', 'test_simple_text')
    assert.deepEqual(content, [{ type: 'text', text: 'This is a simple text response for testing.' }])
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** How the inspector starts our server by itself. */
export const stdioTarget: readonly string[] = [process.execPath, '-C', 'toolyard-source', here('serve.ts')]
