import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runInChild } from './run-in-child.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url))

test('a case that needs what the runtime does not have is no failure', async () => {
  const found = await runInChild(fixture('tools-only'), 'mcp-write-once')
  expect(found).toMatchObject({ name: 'tools only', status: 'none', reason: 'It has no mcp-stdio, mcp-http' })
})

test('a case that the adapter says is pending is no failure', async () => {
  expect(await runInChild(fixture('tools-only'), 'huge-result')).toMatchObject({ status: 'none', reason: 'Next month' })
})

test('a runtime whose package is not installed is not judged', async () => {
  const found = await runInChild(fixture('missing-package'), 'never-ends')
  expect(found).toEqual({ status: 'none', reason: "Cannot find package 'a-package-that-is-not-installed'" })
})

test('an error that nobody catches is a failure, with its message', async () => {
  const { status, reason } = await runInChild(fixture('throws-later'), 'never-ends')
  expect(status).toBe('fail')
  expect(reason).toBe('The whole process ended: RangeError: nobody catches this')
})

test('nothing is left of a runtime that leaves servers behind: no process, no file', async () => {
  const naive = fileURLToPath(new URL('./adapters/naive.ts', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'toolyard-conformance-'))
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true })
  })
  const found = await runInChild(naive, 'mcp-leaves-nothing')
  expect(found.reason).toBe('The server runs on after close()')
  expect(readdirSync(folder)).toEqual([])
  const { stdout } = spawnSync('ps', ['-A', '-ww', '-o', 'stat=,command='], { encoding: 'utf8' })
  expect(stdout).toContain('vitest')
  const left = stdout.split('\n').filter((line) => line.includes(folder) && !line.startsWith('Z'))
  expect(left).toEqual([])
})
