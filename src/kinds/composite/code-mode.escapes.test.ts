import { readFile } from 'node:fs/promises'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../../core/log.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { CODE_ESCAPES, type Escape } from './fixtures/code-escapes.ts'

vi.setConfig({ testTimeout: 60_000 })

const pool = new ProcessPool({ size: 1, spare: false, workers: true })
afterAll(() => pool.close())

const envelope = { tool_name: '', execution_time_ms: 0 }
const failure = (error: string, error_code: 'EXECUTION_ERROR' | 'TOOL_NOT_FOUND'): ToolResult => ({
  ...{ success: false, error, error_code, ...envelope },
})

async function call(name: string, params: unknown): Promise<ToolResult> {
  if (name === 'look') return { success: true, result: { seen: true }, ...envelope }
  if (name === 'echo') return { success: true, result: params, ...envelope }
  return name === 'run_code'
    ? failure("Tool 'run_code' is not available to code", 'TOOL_NOT_FOUND')
    : failure('no', 'EXECUTION_ERROR')
}

/** Runs code in the sandbox. Only limits of the engine end it: its process must survive. */
async function run({ code, timeoutMs = 60_000 }: Pick<Escape, 'code' | 'timeoutMs'>): Promise<string> {
  const module = new URL('./code-sandbox.ts', import.meta.url).href
  const params = { code, timeout_ms: timeoutMs, memory_mb: 16 }
  const task = {
    ...{ module, export: 'runCode', tool: 'run_code', params, tenant: 'local', flags: {}, report: () => {} },
    ...{ log: silentLog, started: false, call },
  }
  try {
    const { result, note } = (await pool.run(task, new AbortController().signal)) as Record<string, unknown>
    return JSON.stringify(result) + (note === undefined ? '' : `, with the note: ${note}`)
  } catch (error) {
    return (error as Error).message
  }
}

describe('code that tries', () => {
  test.each(CODE_ESCAPES)('$escape', async ({ ends, ...code }) => {
    expect(await run(code)).toBe(ends)
  })

  test('all of this pollutes nothing, and its process still runs code', async () => {
    const { pids } = pool
    expect(pids).toHaveLength(1)
    expect(await run({ code: 'return await tools.look()' })).toBe('{"seen":true}')
    expect(pool.pids).toEqual(pids)
    expect({}).not.toHaveProperty('polluted')
  })
})

test('the page lists every escape of the table, in its order, with its real end', async () => {
  const page = await readFile(new URL('../../../docs/guides/code-mode.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split('\n## Escapes\n')
  const rows = section.split('\n').filter((line) => /^\| (?!escape \||--- \|)/.test(line))
  const cell = (text: string) => text.replaceAll('|', '\\|')
  expect(rows).toEqual(
    CODE_ESCAPES.map(({ escape: name, code, ends }) => `| ${name} | \`${cell(code)}\` | ${cell(ends)} |`),
  )
})
