import { afterEach, describe, expect, test } from 'vitest'
import { captureLog } from '../../../testing/index.ts'
import { SecretValues } from '../definition/secret-values.ts'
import { failureOf } from '../exchange/fixtures/failure-of.ts'
import type { Service } from '../exchange/fixtures/service.ts'
import { gather, type Page, pagedService } from './fixtures/paged-service.ts'
import { PageTurner } from './pages.ts'

const ITEMS = Array.from({ length: 25 }, (_, index) => index)

let service: Service | undefined

const serve = async (page: Page): Promise<Service> => {
  service = await pagedService(page)
  return service
}

afterEach(async () => {
  await service?.close()
  service = undefined
})

const some = (from: unknown, many = 10): readonly number[] => ITEMS.slice(Number(from), Number(from) + many)

describe('pages by Link', () => {
  const linked: Page = (query, _, response) => {
    const from = Number(query.get('from') ?? 0)
    if (from < 20) response.setHeader('link', `</x?from=${from + 10}>; rel="next", </x>; rel="first"`)
    return some(from)
  }

  test('are gathered into one list', async () => {
    const weather = await serve(linked)
    expect(await gather(weather, '/x', { type: 'link' })).toEqual(ITEMS)
    expect(weather.asked).toEqual(['GET /x', 'GET /x?from=10', 'GET /x?from=20'])
  })

  test('end after as many as were asked for', async () => {
    const weather = await serve(linked)
    const log = captureLog()
    expect(await gather(weather, '/x', { type: 'link', max_pages: 2 }, { log })).toEqual(ITEMS.slice(0, 20))
    expect(weather.asked).toHaveLength(2)
    expect(log.lines).toMatchObject([{ level: 'debug', message: 'There may be more pages' }])
  })

  test('are ten by default', async () => {
    const weather = await serve((query, _, response) => {
      const page = Number(query.get('p') ?? 0)
      response.setHeader('link', `<?p=${page + 1}>; rel=next`)
      return [page]
    })
    expect(await gather(weather, '/x', { type: 'link' })).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('end when there are items enough', async () => {
    const weather = await serve(linked)
    expect(await gather(weather, '/x', { type: 'link' }, { implementation: { max_items: 12 } })).toEqual(
      ITEMS.slice(0, 12),
    )
    expect(weather.asked).toHaveLength(2)
  })

  test('end if a page repeats', async () => {
    const weather = await serve((query, _, response) => {
      response.setHeader('link', query.has('b') ? '</x>; rel=next' : '</x?b>; rel=next')
      return [query.has('b')]
    })
    expect(await gather(weather, '/x', { type: 'link' })).toEqual([false, true])
  })

  test('go on over an empty one, if it leads on', async () => {
    const weather = await serve((query, _, response) => {
      if (!query.has('b')) response.setHeader('link', '</x?b>; rel=next')
      return query.has('b') ? [1] : []
    })
    expect(await gather(weather, '/x', { type: 'link' })).toEqual([1])
  })
})

describe('pages by an address in the page', () => {
  const pagination = { type: 'next_url', next_path: '$.next', items_path: '$.items' } as const

  const to = (next: (weather: Service) => unknown): Promise<Service> =>
    serve((query) => ({ items: [query.has('b')], next: query.has('b') ? null : next(service as Service) }))

  test.each(['/x?b=1', '?b=1', 'x?b=1'])('are gathered: %s', async (next) => {
    const weather = await to(() => next)
    expect(await gather(weather, '/x', pagination)).toEqual([false, true])
  })

  test('send credentials to the same origin only', async () => {
    const seen: unknown[] = []
    const weather = await serve((query, { headers }) => {
      seen.push([headers.host, headers.authorization, headers['x-key'], headers['x-kept']])
      const { port } = service as Service
      const next = [`http://api.test:${port}/2?p=1`, `http://other.test:${port}/3?p=2`, `http://api.test:${port}/4?p=3`]
      return { items: [1], next: next[Number(query.get('p') ?? 0)] }
    })
    const headers = { authorization: 'Bearer t', 'x-key': 'k', 'x-kept': 'yes' }
    await gather(weather, '/1', pagination, { request: { headers, credentials: ['x-key'] } })
    const own = [`api.test:${weather.port}`, 'Bearer t', 'k', 'yes']
    expect(seen).toEqual([own, own, [`other.test:${weather.port}`, undefined, undefined, 'yes'], own])
  })

  test.each([
    ['http://evil.test/', "names a next page at a blocked address. The host 'evil.test' was refused"],
    ['http://127.0.0.1:1/', 'names a next page at a blocked address. '],
    ['file:///etc/passwd', "The scheme 'file' was refused"],
    ['http://', 'names a next page that is not a URL'],
    [{ url: 'x' }, 'next_path is neither a string nor a number'],
    [['x'], 'next_path is neither a string nor a number'],
  ])('are not asked for at %j', async (next, words) => {
    const weather = await to(() => next)
    const failed = await failureOf(gather(weather, '/x', pagination))
    expect(failed).toMatchObject({ code: 'EXECUTION_ERROR', extras: { outcome: 'unknown' } })
    expect(failed.message).toContain(words)
    expect(weather.asked).toHaveLength(1)
  })

  test('are not requested over http if the first page came over https', () => {
    const request = { method: 'GET', origin: 'https://api.test', path: '/x', headers: {} } as const
    const headers = { link: '<http://api.test/2>; rel=next' }
    const response = { status: 200, body: Buffer.alloc(0), origin: 'https://api.test', path: '/x', headers }
    const turner = new PageTurner(request, {
      tool: 'weather',
      pagination: { type: 'link' },
      nextPath: undefined,
      network: { refusal: () => undefined },
    })
    expect(() => turner.next(response, [], 0, new SecretValues())).toThrow(
      "names a next page over http, at 'api.test', although it was called over https, which is not allowed",
    )
  })

  test('are reported without secrets if they are refused', async () => {
    const weather = await to(() => 'http://sk-123456.evil.test/')
    const failed = await failureOf(gather(weather, '/x', pagination, { secrets: ['sk-123456'] }))
    expect(failed.message).toContain("The host '[redacted].evil.test' was refused")
  })

  test.each([null, '', false, undefined])('end with %j', async (next) => {
    const weather = await to(() => next)
    expect(await gather(weather, '/x', pagination)).toEqual([false])
  })

  test("follow the service's URL even with a secret in it, which is not returned", async () => {
    const weather = await serve((query) => ({
      items: [{ url: '/x?key=sk-123456' }],
      next: query.has('b') ? null : '/x?key=sk-123456&b=1',
    }))
    const gathered = await gather(weather, '/x?key=sk-123456', pagination, { secrets: ['sk-123456'] })
    expect(gathered).toEqual([{ url: '/x?key=[redacted]' }, { url: '/x?key=[redacted]' }])
    expect(weather.asked[1]).toBe('GET /x?key=sk-123456&b=1')
  })
})

describe('pages by cursor', () => {
  const pagination = {
    type: 'cursor',
    cursor_path: '$.meta.next',
    cursor_param: 'after',
    items_path: '$.data',
  } as const

  test('are gathered, with whatever else was asked for', async () => {
    const weather = await serve((query) => {
      const from = Number((query.get('after') ?? 'c&0').slice(2))
      return { data: some(from), meta: { next: from < 20 ? `c&${from + 10}` : null } }
    })
    expect(await gather(weather, '/x?city=K%C3%B6ln', pagination)).toEqual(ITEMS)
    expect(weather.asked[1]).toBe('GET /x?city=K%C3%B6ln&after=c%2610')
  })

  test('may have numbers for cursors', async () => {
    const weather = await serve((query) => {
      const from = Number(query.get('after') ?? 0)
      return { data: some(from), meta: { next: from < 20 ? from + 10 : '' } }
    })
    expect(await gather(weather, '/x', pagination)).toEqual(ITEMS)
  })

  test('end if a cursor repeats', async () => {
    const weather = await serve((query) => ({ data: [query.get('after')], meta: { next: 'same' } }))
    expect(await gather(weather, '/x', pagination)).toEqual([null, 'same'])
    expect(weather.asked).toHaveLength(2)
  })
})

describe('pages by number', () => {
  const numbered: Page = (query) => some((Number(query.get('page')) - 1) * 10)

  test('are gathered up to an empty one', async () => {
    const weather = await serve(numbered)
    expect(await gather(weather, '/x?a=1', { type: 'page', page_param: 'page' })).toEqual(ITEMS)
    expect(weather.asked).toEqual([1, 2, 3, 4].map((page) => `GET /x?a=1&page=${page}`))
  })

  test('start at the first page of the API or of the caller', async () => {
    const weather = await serve((query) => some(Number(query.get('page')) * 10))
    const pagination = { type: 'page', page_param: 'page', first_page: 0 } as const
    expect(await gather(weather, '/x', pagination)).toEqual(ITEMS)
    expect(await gather(weather, '/x?page=2', pagination)).toEqual(ITEMS.slice(20))
  })

  test('end when the service repeats a page', async () => {
    const weather = await serve(() => ITEMS)
    expect(await gather(weather, '/x', { type: 'page', page_param: 'page' })).toEqual(ITEMS)
    expect(weather.asked).toHaveLength(2)
  })
})

describe('pages by offset', () => {
  const pagination = { type: 'offset', offset_param: 'skip', limit_param: 'take', limit: 10 } as const

  test('are gathered up to an empty one', async () => {
    const weather = await serve((query) => some(query.get('skip'), Number(query.get('take'))))
    expect(await gather(weather, '/x', pagination)).toEqual(ITEMS)
    expect(weather.asked[1]).toBe('GET /x?skip=10&take=10')
  })

  test('skip nothing if the service sends fewer items than requested', async () => {
    const weather = await serve((query) => some(query.get('skip'), 7))
    expect(await gather(weather, '/x', pagination)).toEqual(ITEMS)
  })

  test("need no limit parameter and start at the caller's offset", async () => {
    const weather = await serve((query) => some(query.get('skip')))
    expect(await gather(weather, '/x?skip=5', { type: 'offset', offset_param: 'skip', limit: 10 })).toEqual(
      ITEMS.slice(5),
    )
    expect(weather.asked[0]).toBe('GET /x?skip=5')
  })
})
