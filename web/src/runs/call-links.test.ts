import { expect, test } from 'vitest'
import { callLinks } from './call-links.ts'

const at = (ms: number): string => new Date(1_000_000 + ms).toISOString()
const call = (tool: string, ms: number) => ({ type: 'tool', tool, started_at: at(ms) }) as const
const row = (id: string, tool: string, ms: number) => ({ id, tool, time: at(ms) })

test('each call of a run has the row of its tool that began at the nearest time', () => {
  const steps = [{ type: 'model', started_at: at(0) } as const, call('a', 10), call('b', 11), call('a', 50)]
  const rows = [row('2', 'a', 51), row('1', 'a', 9), row('3', 'b', 11)]
  expect([...callLinks(steps, rows)]).toEqual([
    [1, '1'],
    [2, '3'],
    [3, '2'],
  ])
})

test('no row belongs to two calls, and a call without a row has no link', () => {
  expect([...callLinks([call('a', 10), call('a', 10), call('c', 10)], [row('1', 'a', 10)])]).toEqual([[0, '1']])
})
