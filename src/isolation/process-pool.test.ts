import { getEventListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { silentLog } from '../core/log.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { deadline, isAlive, never, task, until } from './fixtures/task.ts'
import { ProcessPool } from './process-pool.ts'

const pool = new ProcessPool()
const run = (...args: Parameters<typeof task>) => pool.run(task(...args), never())
const failure = (promise: Promise<unknown>) =>
  promise.then(
    (value) => expect.fail(`gave ${JSON.stringify(value)}`),
    (error) => error,
  )

afterAll(() => pool.close())

describe('a call', () => {
  it('returns the result of the handler', async () => {
    expect(await run('echo', { a: [1, null, 'x'] })).toEqual({ echo: { a: [1, null, 'x'] } })
  })

  it('passes calls of tools to its host, and each result back', async () => {
    const call = async (name: string, params: unknown) => {
      // Results arrive in another order.
      if (name === 'slow') await run('nothing')
      return { success: true, result: params, tool_name: name, execution_time_ms: 0 } as const
    }
    const results = (await run('calls', { names: ['slow', 'quick'] }, { call })) as {
      tool_name: string
      result: unknown
    }[]
    expect(results.map(({ tool_name, result }) => [tool_name, result])).toEqual([
      ['slow', { at: 0 }],
      ['quick', { at: 1 }],
      ['slow', { at: 2 }],
      ['quick', { at: 3 }],
    ])
  })

  it('fails if the handler calls a tool that it may not, or if the host fails', async () => {
    expect((await failure(run('calls', { names: ['a'] }))).message).toBe(
      'context.call is not available in an isolated handler',
    )
    const call = () => Promise.reject(new Error('The host failed'))
    expect((await failure(run('calls', { names: ['a'] }, { call }))).message).toBe('The host failed')
  })

  it('returns undefined if the handler returns nothing', async () => {
    expect(await run('nothing')).toBeUndefined()
  })

  it('transports any text unchanged', async () => {
    expect(await run('gives', { what: 'text' })).toBe('line one\nline two \u2028 \ud800 é 漢 \u0000')
  })

  it('runs in another process, which serves the next call too', async () => {
    const first = await run('pid')
    expect(first).not.toBe(process.pid)
    expect(await run('pid')).toBe(first)
  })

  it('shows the handler its tenant and flags, a signal that is not aborted, and no environment', async () => {
    const seen = await run('seen', {}, { tenant: 'acme', flags: { beta: true } })
    expect(seen).toMatchObject({ tenant: 'acme', flags: { beta: true }, aborted: false, environment: [] })
  })

  it('is started when a process has taken it', async () => {
    const started = task('echo')
    await pool.run(started, never())
    expect(started.started).toBe(true)
  })

  it('passes on reports and enabled log levels', async () => {
    const reports: unknown[] = []
    const lines: unknown[] = []
    const debug = await run(
      'notes',
      {},
      {
        report: (progress) => reports.push(progress),
        log: {
          ...silentLog,
          info: (fields, message) => lines.push([fields, message]),
          debug: (fields, message) => lines.push([fields, message]),
          isLevelEnabled: (level) => level === 'info',
        },
      },
    )
    expect(debug).toBe(false)
    expect(reports).toEqual([{ percent: 10 }])
    expect(lines).toEqual([[{ step: 1 }, 'half way']])
  })

  it('drops reports that are too many, too long or not JSON, and still succeeds', async () => {
    let reports = 0
    await run('chatter', {}, { report: () => reports++ })
    expect(reports).toBe(1000)
  })

  it('survives a listener that throws', async () => {
    const report = () => {
      throw new Error('listener')
    }
    expect(await run('notes', {}, { report })).toBe(false)
  })

  it('sends what the handler prints to the log of the call', async () => {
    const lines: unknown[] = []
    const debug = (fields: object, message: string) => lines.push([fields, message])
    await run('prints', {}, { log: { ...silentLog, debug, isLevelEnabled: () => true } })
    expect(lines).toEqual([
      [{ stream: 'stdout' }, 'printed out'],
      [{ stream: 'stderr' }, 'printed err'],
      [{ stream: 'stdout' }, 'written'],
    ])
  })
})

describe('a handler that throws', () => {
  it.each([
    ['error', 'plain'],
    ['string', 'a string'],
    ['null', 'null'],
    ['frozen', 'frozen'],
    ['hostile', 'the handler threw a value that cannot be shown'],
    ['oddCode', 'odd'],
  ])('gives an error with its words alone (%s)', async (what, message) => {
    const error = await failure(run('throws', { what }))
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toBe(message)
    expect(Object.keys(error)).toEqual([])
    expect(error.stack).not.toContain('handlers.ts')
  })

  it('keeps one of our codes', async () => {
    const error = await failure(run('throws', { what: 'coded' }))
    expect(error).toBeInstanceOf(ToolExecutionError)
    expect(error).toMatchObject({ code: 'RATE_LIMITED', message: 'slow down' })
  })

  it("keeps a code of the system's", async () => {
    expect(await failure(run('reads', { path: '/etc/hostname' }))).toMatchObject({ code: 'ERR_ACCESS_DENIED' })
  })

  it('has its message cut', async () => {
    expect((await failure(run('throws', { what: 'long' }))).message).toHaveLength(2000)
  })
})

describe('a result that cannot be sent', () => {
  it.each([
    ['circle', /^the result cannot be written as JSON: Converting circular structure/],
    ['bigint', /^the result cannot be written as JSON: .*BigInt/],
    ['getter', /^the result cannot be written as JSON: from a getter$/],
    ['deep', /^the result is nested more than 1000 deep$/],
  ])('is an error that says so (%s)', async (what, message) => {
    expect((await failure(run('gives', { what }))).message).toMatch(message)
  })

  it('is RESULT_TOO_LARGE if it is too large', async () => {
    expect(await failure(run('gives', { what: 'large' }))).toMatchObject({ code: 'RESULT_TOO_LARGE' })
  })

  it('and parameters that cannot be sent are INVALID_PARAMETERS', async () => {
    expect(await failure(run('echo', { a: 1n }))).toMatchObject({ code: 'INVALID_PARAMETERS' })
    expect(await run('echo', 1)).toEqual({ echo: 1 })
  })
})

describe('a handler that cannot be loaded', () => {
  it.each([
    ['missing', new URL('./fixtures/nowhere.ts', import.meta.url).href],
    ['missing', new URL('./fixtures/handlers.ts', import.meta.url).href],
    ['notAFunction', new URL('./fixtures/handlers.ts', import.meta.url).href],
    ['missing', 'data:text/javascript,export const missing = 1'],
    ['missing', 'file://elsewhere/x.js'],
  ])('is named by its export, not by its path (%s of %s)', async (name, module) => {
    const error = await failure(run(name, {}, { module }))
    expect(error.message).toMatch(new RegExp(`^Handler "${name}" could not be loaded`))
    expect(error.message).not.toContain('fixtures')
  })
})

describe('a deadline', () => {
  it('ends a handler that loops for ever, with its process', async () => {
    const looping = new ProcessPool()
    const pid = (await looping.run(task('pid'), never())) as number
    expect((await failure(looping.run(task('loop'), deadline(200)))).message).toBe('late')
    await until(() => !isAlive(pid))
    expect(await looping.run(task('echo', 1), never())).toEqual({ echo: 1 })
    await looping.close()
  })

  it('that has already passed sends nothing', async () => {
    const lazy = new ProcessPool()
    const late = task('echo')
    expect(await failure(lazy.run(late, AbortSignal.abort('gone')))).toBe('gone')
    expect(late.started).toBe(false)
    expect(lazy.pids).toEqual([])
  })

  it('leaves no listener on the signal, however the call ends', async () => {
    const controller = new AbortController()
    const calls = [task('echo'), task('throws', { what: 'error' }), task('missing')]
    await Promise.allSettled(calls.map((call) => pool.run(call, controller.signal)))
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const looping = pool.run(task('loop'), controller.signal)
    controller.abort()
    await failure(looping)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

describe('modules outside our own code', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isolated-'))
  const other = mkdtempSync(join(tmpdir(), 'isolated-'))
  const module = (at: string) => {
    writeFileSync(join(at, 'secret.txt'), 'secret')
    const code = `import { readFileSync } from 'node:fs'
      export const read = ({ path }) => readFileSync(path, 'utf8')
      export const pid = () => process.pid`
    writeFileSync(join(at, 'handler.mjs'), code)
    return pathToFileURL(join(at, 'handler.mjs')).href
  }
  const mine = module(folder)
  const theirs = module(other)

  afterAll(() => {
    for (const path of [folder, other]) rmSync(path, { recursive: true })
  })

  it('may read their own folder', async () => {
    expect(await run('read', { path: join(folder, 'secret.txt') }, { module: mine })).toBe('secret')
  })

  it('may not read the folder of another module', async () => {
    const call = run('read', { path: join(other, 'secret.txt') }, { module: mine })
    expect(await failure(call)).toMatchObject({ code: 'ERR_ACCESS_DENIED' })
  })

  it('may read the folders that the pool was given', async () => {
    const open = new ProcessPool({ read: [other] })
    const read = task('read', { path: join(other, 'secret.txt') }, { module: mine })
    expect(await open.run(read, never())).toBe('secret')
    await open.close()
  })

  it('never share a process with another folder', async () => {
    const pids = [await run('pid', {}, { module: mine }), await run('pid', {}, { module: theirs }), await run('pid')]
    expect(new Set(pids).size).toBe(3)
  })
})

it('refuses unknown options', () => {
  const message = 'ProcessPool: unknown option "memory_mb". Did you mean "memoryMb"?'
  expect(() => new ProcessPool({ memory_mb: 5 } as object)).toThrow(new TypeError(message))
})

it.each(['size', 'share', 'memoryMb', 'queue', 'tries', 'callTimeoutMs', 'idleMs'])(
  'refuses a %s that is not a number in its range',
  (name) => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1, '5', null]) {
      expect(() => new ProcessPool({ [name]: value })).toThrow(`ProcessPool: ${name} must be `)
    }
  },
)

it.each([
  [{ trusted: 'no' }, 'trusted must be true or false, not "no"'],
  [{ workers: 1 }, 'workers must be true or false, not 1'],
  [{ killOnAbort: null }, 'killOnAbort must be true or false, not null'],
  [{ read: '/tmp' }, 'read must be an array of names, not "/tmp"'],
])('refuses %j', (options, problem) => {
  expect(() => new ProcessPool(options as object)).toThrow(new TypeError(`ProcessPool: ${problem}`))
})
