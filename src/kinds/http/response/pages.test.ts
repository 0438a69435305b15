import { afterEach, describe, expect, test } from 'vitest'
import type { Service } from '../exchange/fixtures/service.ts'
import { gather, type Page, pagedService } from './fixtures/paged-service.ts'

let service: Service | undefined

const serve = async (page: Page): Promise<Service> => {
  service = await pagedService(page)
  return service
}

afterEach(async () => {
  await service?.close()
  service = undefined
})

describe('the list of all pages', () => {
  const pagination = { type: 'page', page_param: 'p' } as const
  const days: Page = (query) => ({ days: Number(query.get('p')) < 3 ? [{ rain: query.get('p'), wind: 1 }] : [] })

  test('uses response_path if there is no items_path', async () => {
    const weather = await serve(days)
    const implementation = { response_path: '$.days', pick: ['rain'] }
    expect(await gather(weather, '/x', pagination, { implementation })).toEqual([{ rain: '1' }, { rain: '2' }])
  })

  test('applies response_path to the items of items_path', async () => {
    const weather = await serve(days)
    const implementation = { response_path: "$[?@.rain == '2'].wind", max_items: 1 }
    expect(await gather(weather, '/x', { ...pagination, items_path: '$.days' }, { implementation })).toEqual([1])
  })

  test('is empty if there are no items', async () => {
    const weather = await serve(() => ({}))
    expect(await gather(weather, '/x', { ...pagination, items_path: '$.days' })).toEqual([])
  })

  test('fails if a page has no list', async () => {
    const weather = await serve(() => ({ days: 1 }))
    const failed = gather(weather, '/x', { ...pagination, items_path: '$.days' })
    await expect(failed).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message:
        "The service behind tool 'weather' answered with a page that is not a list: set pagination.items_path to the list",
    })
  })

  test('fails if one page fails', async () => {
    const weather = await serve((query, _, response) => {
      if (query.get('p') === '2') response.writeHead(503, { 'retry-after': '2' }).end()
      return [1]
    })
    await expect(gather(weather, '/x', pagination)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      repeat: { afterMs: 2_000 },
    })
  })

  test('fails if a page is not JSON', async () => {
    const weather = await serve((_, __, response) => response.setHeader('content-type', 'text/html').end('<html>'))
    await expect(gather(weather, '/x', pagination)).rejects.toMatchObject({ code: 'EXECUTION_ERROR' })
  })

  test('is bounded as a whole', async () => {
    const weather = await serve((query) => ['x'.repeat(400), query.get('p')])
    await expect(gather(weather, '/x', pagination, { maxBytes: 1_000 })).rejects.toMatchObject({
      code: 'RESULT_TOO_LARGE',
    })
    expect(weather.asked).toHaveLength(3)
  })

  test('may come from very long pages', async () => {
    const weather = await serve((query) => (query.get('p') === '1' ? Array(200_000).fill(1) : []))
    expect(await gather(weather, '/x', pagination)).toHaveLength(200_000)
  })
})
