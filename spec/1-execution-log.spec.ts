import { spawnSync } from 'node:child_process'
import { ManualClock } from 'toolyard/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { mock, withTools } from './fixtures/tool-manager.ts'

describe('Execution log', () => {
  let program: { readonly stdout: string; readonly stderr: string }
  beforeAll(() => {
    program = runProgram()
  })

  test('[1.5-1] logs tool, bounded and redacted params and result, success, time and timestamp', async () => {
    const { execute, log } = await withTools({
      same: { run: (params) => params },
      fails: { run: () => Promise.reject('broken') },
    })
    await execute('same', { city: 'Paris', api_key: 'hunter2', text: 'x'.repeat(100_000) })
    await execute('fails', { city: 'Rome' })
    const [first, second] = log.lines.filter(({ fields }) => 'success' in fields)
    expect(first?.fields).toMatchObject({
      tool: 'same',
      params: { city: 'Paris' },
      result: { city: 'Paris' },
      success: true,
      execution_time_ms: expect.any(Number),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    })
    expect(JSON.stringify(first)).not.toContain('hunter2')
    expect(JSON.stringify(first).length).toBeLessThan(5_000)
    expect(second?.fields).toMatchObject({ tool: 'fails', params: { city: 'Rome' }, success: false })
  })

  test('[1.5-2] warns about an execution slower than 1000 ms', async () => {
    const clock = new ManualClock()
    const { execute, log } = await withTools({ wait: { run: ({ ms }) => clock.advance(ms as number) } }, { clock })
    await execute('wait', { ms: 1_000 })
    expect(log.at('warn')).toEqual([])
    await execute('wait', { ms: 1_001 })
    expect(log.at('warn')).toMatchObject([{ tool: 'wait', execution_time_ms: 1_001 }])
  })

  test('[1.5-3] writes one record per line to stderr, whatever a name contains', () => {
    const lines = program.stderr.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { tool: 'two\nlines\u2028', success: false },
      { tool: 'hello', success: true },
    ])
  })

  test('[1.5-4] leaves stdout to the program', () => {
    expect(JSON.parse(program.stdout)).toMatchObject({ success: true, result: 'hi' })
  })
})

/** Calls an unknown tool and one that exists, in a process with the default log. */
function runProgram(): { stdout: string; stderr: string } {
  const source = `
    import { ToolManager } from 'toolyard'
    const manager = new ToolManager({ tools: { enabled: true, registry: [${JSON.stringify(mock('hello', 'hi'))}] } })
    await manager.loadTools()
    const executor = manager.getExecutor()
    await executor.execute('two\\nlines\\u2028', { text: 'a\\nb' })
    process.stdout.write(JSON.stringify(await executor.execute('hello', {})))
    await manager.close()`
  const cwd = new URL('..', import.meta.url)
  return spawnSync(process.execPath, ['--conditions=toolyard-source', '--input-type=module', '--eval', source], {
    cwd,
    encoding: 'utf8',
  })
}
