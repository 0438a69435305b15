import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Runs an example the way its reader would; gives what it printed. */
async function run(example: string): Promise<string> {
  const file = fileURLToPath(new URL(example, import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-C', 'toolyard-source', file])
  expect(stderr).toBe('')
  return stdout
}

test('quick-start: a typed tool, and parameters that are refused', async () => {
  const output = await run('quick-start.ts')
  expect(output).toContain("result: { city: 'Paris', degrees: 22 }")
  expect(output).toContain("error: 'Invalid parameters: city must have at least 2 characters'")
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

test('langchain: its tools join as they are, and ours are handed out', async () => {
  const output = await run('langchain.ts')
  expect(output).toContain('the same object: true')
  expect(output).toContain("result: { word: 'yard', letters: 4 }")
  expect(output).toContain("error: 'Invalid parameters: word must be a string'")
  expect(output).toContain('handed out: get_weather, count_letters')
  expect(output).toContain('success: {"temperature":22}')
  expect(output).toContain("error: Invalid parameters: missing 'city'")
})

test('http-tool: an API as a tool, its secret kept, and a parameter that leads astray refused', async () => {
  const output = await run('http-tool.ts')
  expect(output).toContain("result: { name: 'Ann', key: '[redacted]' }")
  expect(output).toContain('answered 404 Not Found: {"problem":"no such user"}')
  expect(output).toContain("error_code: 'INVALID_PARAMETERS'")
})

test('testing: tests of a tool and of an agent', async () => {
  expect(await run('testing.ts')).toMatch(/pass 3\b[^]*fail 0\b/)
})
