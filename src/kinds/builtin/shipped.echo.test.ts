import { expect, test } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import { echo } from './shipped.ts'

const context: HandlerContext = {
  signal: new AbortController().signal,
  tenant: 'local',
  flags: {},
  report: () => {},
  log: silentLog,
}

test('echo gives its parameters back, whatever they are', () => {
  const params = { text: 'héllo', list: [1, null, { deep: true }] }
  expect(echo(params, context)).toEqual({ echo: params })
  expect(echo({}, context)).toEqual({ echo: {} })
})
