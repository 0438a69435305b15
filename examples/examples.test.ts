import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

/** Runs an example the way its reader would; gives what it printed. */
async function run(example: string): Promise<string> {
  const file = fileURLToPath(new URL(example, import.meta.url))
  const data = await mkdtemp(join(tmpdir(), 'toolyard-example-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  const env = { ...process.env, TOOLYARD_DATA: data }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-C', 'toolyard-source', file], { env })
  expect(stderr).toBe('')
  return stdout
}

test('quick-start: a typed tool, and parameters that are refused', async () => {
  const output = await run('quick-start.ts')
  expect(output).toContain("result: { city: 'Paris', degrees: 22 }")
  expect(output).toContain("error: 'Invalid parameters: city must have at least 2 characters'")
})

test('streaming: the events of a run, and a second question', async () => {
  const output = await run('streaming.ts')
  expect(output).toMatch(/^forecast \{ asked: 1, of: 1 \}\nforecast \{.*degrees: 22.*\}\nIt is 22 degrees\.Yes\.$/ms)
})

test('own-handler: progress, a deadline and a cancellation', async () => {
  const [, progress, deadline, cancellation] = (await run('own-handler.ts')).split(/^\w+:$/m)
  expect(progress).toMatch(/\{ copied: 1, of: 3 \}\s+\{ copied: 2, of: 3 \}\s+\{ copied: 3, of: 3 \}/)
  expect(progress).toContain('result: { copied: 3 }')
  expect(deadline).toContain('Tool execution timed out after 1000ms')
  expect(cancellation).toContain("error_code: 'CANCELLED'")
})

test('isolated-handler: a loop without end is stopped, and holds nothing up', async () => {
  const output = await run('isolated-handler/main.ts')
  expect(output).toContain('factors: [ 71, 839, 1471, 6857 ]')
  expect(output).toContain('Tool execution timed out after 1500ms')
  expect(output).toContain('meanwhile the timer went on: true')
})

test('with-ai-sdk: tools both ways, and a failure that the model reads', async () => {
  const output = await run('with-ai-sdk.ts')
  expect(output).toContain('result: 4')
  expect(output).toContain("forecast { city: 'Paris', degrees: 22 }")
  expect(output).toContain('letters ToolExecutionError: Invalid parameters: word must be a string')
  expect(output).toContain('It is 22 degrees in Paris.')
})

test('with-langchain: tools both ways, and a failure that the model reads', async () => {
  const output = await run('with-langchain.ts')
  expect(output).toContain("result: { word: 'yard', letters: 4 }")
  expect(output).toContain('tools: forecast, letters')
  expect(output).toContain('success: {"city":"Paris","degrees":22}')
  expect(output).toContain("error: Invalid parameters: missing 'city'")
})

test('with-openai: an agent corrects its call', async () => {
  const output = await run('with-openai.ts')
  expect(output.split('\n').slice(0, 3)).toEqual([
    'Invalid parameters: city must have at least 2 characters',
    '{"city":"Paris","degrees":22}',
    'It is 22 degrees in Paris.',
  ])
})

test('mcp-client: a client of the official SDK lists and calls tools', async () => {
  const output = await run('mcp-client.ts')
  expect(output).toContain('tools: forecast')
  expect(output).toContain("result: { city: 'Paris', degrees: 22 }")
  expect(output).toMatch(/failure: true \[.*city must have at least 2 characters/s)
})

test('own-server: tools in code over HTTP', async () => {
  const output = await run('own-server.ts')
  expect(output).toMatch(/^200 \{.*result: \{ city: 'Paris', degrees: 22 \}/s)
  expect(output).toMatch(/^400 \{.*error_code: 'INVALID_PARAMETERS'/ms)
})

test('approval-server: a person decides, not the key that asked', async () => {
  expect((await run('approval-server.ts')).trim().split('\n')).toEqual([
    "20: { payment: 'p1', refunded: 20 }",
    '250 asks: true',
    'the agent decides: 403',
    'ann decides: approved',
    "250 runs: { payment: 'p1', refunded: 150 }",
  ])
})

test('approval: a run that waits for a person', async () => {
  const output = await run('approval.ts')
  expect(output).toMatch(/^waiting \{ amount: 120 \}\nI refunded 60\. \{.*result: \{ refunded: 60 \}/s)
})

test('http-tool: an API as a tool, its secret kept, and a parameter that leads astray refused', async () => {
  const output = await run('http-tool.ts')
  expect(output).toContain("result: { name: 'Ann', key: '[redacted]' }")
  expect(output).toContain('answered 404 Not Found: {"problem":"no such user"}')
  expect(output).toContain("error_code: 'INVALID_PARAMETERS'")
})

test('testing: tests of a tool and of an agent', async () => {
  expect(await run('testing.ts')).toMatch(/pass 3\b[\s\S]*fail 0\b/)
})
