import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditRow } from '../../core/storage/ledger.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'

const greet = (version: string, more: object = {}) => ({
  name: 'greet',
  description: 'Greets',
  version,
  parameters: { type: 'object', properties: { who: { type: 'string' } } },
  implementation: { type: 'mock', mock_response: version },
  ...more,
})

const config = {
  tools: {
    enabled: true,
    registry: [
      greet('1.0.0'),
      greet('2.0.0', { parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } }),
      greet('1.1.0', {
        parameters: { type: 'object', properties: { who: { type: 'string' }, loud: { type: 'boolean' } } },
      }),
      { ...greet('1.0.0', { deprecated: { use: 'greet' } }), name: 'welcome' },
    ],
    rollout: { greet: { current: '1.0.0' } },
  },
}

test('a rollout goes from its start to its promotion, and a running server follows', async () => {
  const { toolyard, serve } = await installationFolder(config)
  const json = async (...args: string[]) => JSON.parse((await toolyard(...args, '--json')).out)
  const server = await serve()
  const version = () => server.manager.getExecutor().execute('greet', {}, {})
  expect(await version()).toMatchObject({ result: '1.0.0' })
  const wrong = await toolyard('rollout', 'start', 'greet', '--candidate', '9.0.0', '--percent', '10')
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('it has 1.0.0, 1.1.0, 2.0.0')])
  const started = await toolyard('rollout', 'start', 'greet', '--candidate', '1.1.0', '--percent', '100')
  expect(started.out).toBe('greet: 100 % get 1.1.0, the others 1.0.0\n')
  await expect.poll(version, { timeout: 20_000 }).toMatchObject({ result: '1.1.0' })
  expect((await toolyard('rollout', 'show')).out).toMatch(/greet +1\.0\.0 +1\.1\.0 +100 % +session/)
  const { out } = await toolyard('versions', 'greet')
  expect(out).toMatch(/1\.1\.0 +candidate/)
  expect(out).toContain('Not enough calls yet')
  expect((await toolyard('rollout', 'rollback', 'greet')).out).toBe('greet: everyone gets 1.0.0\n')
  await expect.poll(version, { timeout: 20_000 }).toMatchObject({ result: '1.0.0' })
  await toolyard('rollout', 'start', 'greet', '--candidate', '1.1.0', '--percent', '10', '--min-calls', '50')
  expect(await json('rollout', 'show')).toMatchObject({ rollouts: { greet: { guard: { min_calls: 50 } } } })
  expect((await toolyard('rollout', 'promote', 'greet')).out).toBe('greet: everyone gets 1.1.0\n')
  expect((await toolyard('exec', 'greet')).out).toBe('1.1.0\n')
  expect((await toolyard('exec', 'greet@2.0.0', 'name=Ann')).out).toBe('2.0.0\n')
  expect((await toolyard('rollout', 'reset', 'greet')).out).toBe('greet: everyone gets 1.0.0\n')
  expect((await toolyard('rollout', 'promote', 'greet')).code).toBe(2)
  const { rows } = await json('audit', 'list', '--type', 'event')
  const events = rows.filter(({ event }: AuditRow) => event?.startsWith('rollout'))
  expect(events.map(({ event, subject, caller }: AuditRow) => [event, subject, caller])).toEqual(
    ['reset', 'promoted', 'started', 'rolled_back', 'started'].map((name) => [`rollout.${name}`, 'greet', 'local']),
  )
  const calls = (await json('audit', 'list', '--type', 'call')).rows as AuditRow[]
  expect(calls.slice(0, 2).map((row) => [row.tool, row.version])).toEqual([
    ['greet', '2.0.0'],
    ['greet', '1.1.0'],
  ])
})

test('reading rollouts and versions creates no store', async () => {
  const { toolyard, data } = await installationFolder(config)
  expect((await toolyard('rollout', 'show', 'greet')).out).toMatch(/^TOOL .*\ngreet +1\.0\.0$/m)
  expect(await toolyard('versions', 'greet')).toMatchObject({
    code: 2,
    err: 'There is no store yet: "toolyard serve" creates one.\n',
  })
  expect(existsSync(join(data, 'toolyard.db'))).toBe(false)
  const start = ['rollout', 'start', 'greet', '--candidate', '1.1.0', '--percent']
  expect((await toolyard(...start, '101')).err).toBe("--percent takes a number from 0 to 100, not '101'.\n")
  expect((await toolyard(...start, '10', '--min-calls', '2')).err).toContain('--min-calls takes a whole number')
  expect((await toolyard(...start, '10')).code).toBe(0)
  expect((await toolyard('versions', 'greet@1.0.0')).err).toContain("There is no tool 'greet@1.0.0'")
})

test('toolyard diff says what changed for callers, and exits with 1 if it breaks calls', async () => {
  const { toolyard } = await installationFolder(config)
  const added = await toolyard('diff', 'greet@1.0.0', 'greet@1.1.0')
  expect([added.code, added.out, added.err]).toEqual([0, 'ok        loud was added\n', 'Not breaking.\n'])
  const broken = await toolyard('diff', 'greet@1.0.0', 'greet@2.0.0')
  expect([broken.code, broken.out]).toEqual([
    1,
    'breaking  who was removed: its value is ignored\nbreaking  name was added, and is required\n',
  ])
  const unknown = await toolyard('diff', 'greet@1.0.0', 'greet@3.0.0')
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('greet@1.0.0, greet@1.1.0, greet@2.0.0')])
})

test('toolyard exec and tools say that a tool is deprecated', async () => {
  const { toolyard } = await installationFolder(config)
  expect(await toolyard('exec', 'welcome')).toMatchObject({
    out: '1.0.0\n',
    err: expect.stringContaining("Warning: Tool 'welcome' 1.0.0 is deprecated. Use greet instead\n"),
  })
  expect((await toolyard('tools')).out).toMatch(/^welcome .*\(1\.0\.0, deprecated\)/m)
})
