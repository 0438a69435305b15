import { expect, test } from 'vitest'
import type { Rating } from '../../operations/ratings.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'

async function open() {
  const server = await openScriptedServer(['One.', 'Two.', 'Three.'])
  const keys = { user: await server.key('local', 'user'), boss: await server.key('local', 'operator') }
  const ask = async <T>(key: keyof typeof keys, method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': keys[key], ...(body && { 'content-type': 'application/json' }) }
    const sent = body && { body: JSON.stringify(body) }
    const response = await fetch(server.url + path, { method, headers, ...sent })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as T }
  }
  const run = async (key: keyof typeof keys) =>
    (await ask<{ run_id: string }>(key, 'POST', '/api/tools/test', { query: 'Hi', model: server.model.id })).body.run_id
  return { ...server, ask, run }
}

test('stores a rating for each person, shows it in lists and filters by it', async () => {
  const { ask, run } = await open()
  const [mine, theirs] = [await run('user'), await run('boss')]
  const rated = await ask<Rating>('user', 'PUT', '/api/ratings', {
    run_id: mine,
    verdict: 'bad',
    comment: 'Too short. ty_abcdefgh1234',
  })
  expect(rated).toMatchObject({ status: 200, body: { verdict: 'bad', comment: 'Too short. [redacted]', own: true } })
  await ask('boss', 'PUT', '/api/ratings', { run_id: mine, verdict: 'good' })

  // Ratings of others need the scope observe.
  const list = async (key: 'user' | 'boss', query = '') =>
    (await ask<{ ratings: Rating[] }>(key, 'GET', `/api/ratings${query}`)).body.ratings
  expect((await list('user')).map(({ verdict }) => verdict)).toEqual(['bad'])
  expect(await list('boss', `?run_id=${mine}`)).toMatchObject([
    { verdict: 'good', own: true },
    { verdict: 'bad', own: false, run_id: mine },
  ])
  expect(await list('boss', `?run_id=${theirs}`)).toEqual([])
  expect(await list('boss', '?verdict=bad')).toHaveLength(1)
  expect((await ask('user', 'PUT', '/api/ratings', { run_id: theirs, verdict: 'bad' })).status).toBe(404)

  const runs = async (query: string) =>
    (await ask<{ runs: { id: string; ratings?: object }[] }>('boss', 'GET', `/api/runs${query}`)).body.runs
  expect((await runs('')).map(({ id, ratings }) => [id, ratings])).toEqual([
    [theirs, undefined],
    [mine, { good: 1, bad: 1 }],
  ])
  expect((await runs('?rating=bad')).map(({ id }) => id)).toEqual([mine])

  // Another rating of the same person replaces the first one.
  await ask('user', 'PUT', '/api/ratings', { run_id: mine, verdict: 'good', comment: '' })
  expect(await runs('?rating=bad')).toEqual([])
  expect((await ask('boss', 'DELETE', `/api/ratings/${rated.body.id}`)).status).toBe(204)
  expect((await ask('user', 'DELETE', `/api/ratings/${rated.body.id}`)).status).toBe(204)
  expect((await ask('user', 'DELETE', `/api/ratings/${rated.body.id}`)).status).toBe(404)
  expect(await list('boss')).toEqual([])

  const { rows } = (
    await ask<{ rows: { event: string; subject: string; detail: string }[] }>('boss', 'GET', '/audit?type=event')
  ).body
  const events = rows.filter(({ event }) => event === 'rating.changed')
  expect(events.map(({ subject, detail }) => [subject, JSON.parse(detail).verdict])).toEqual(
    ['removed', 'removed', 'good', 'good', 'bad'].map((verdict) => [mine, verdict]),
  )
})

test('rates the trials of a suite run', async () => {
  const { ask, installation } = await open()
  const trial = { suite: 'shop', model: 's:m', case: 'pay', repetition: 1 }
  const job = { id: 'run-1', tenant: 'local', caller: null, tool: 'toolyard/suites', params: {}, timeout_ms: 1 }
  const { jobs } = installation.storage
  await jobs.create({ ...job, created_at: new Date().toISOString() })
  const result = { success: true, result: { trials: [trial] }, tool_name: 'x', execution_time_ms: 1 } as const
  await jobs.end('run-1', 'done', result, new Date().toISOString())
  const rate = (more: object, key: 'user' | 'boss' = 'boss') =>
    ask<Rating>(key, 'PUT', '/api/ratings', { suite_run_id: 'run-1', trial, verdict: 'bad', ...more })
  expect((await rate({})).body).toMatchObject({ suite_run_id: 'run-1', trial })
  expect((await rate({}, 'user')).status).toBe(403)
  expect((await rate({ trial: { ...trial, case: 'none' } })).status).toBe(404)
  expect((await rate({ trial: undefined })).status).toBe(400)
  expect((await rate({ run_id: 'x' })).status).toBe(400)
  const { body } = await ask<{ ratings: Rating[] }>('boss', 'GET', '/api/ratings?suite_run_id=run-1')
  expect(body.ratings).toHaveLength(1)
})
