import { describe, expect, test } from 'vitest'
import { ReportReader } from './tool-server.ts'

const progress = (params: object) => ({ method: 'notifications/progress', params: { progressToken: 't', ...params } })

describe('ReportReader', () => {
  test.each([
    ['a number', 3, { progress: 3 }],
    ['a text', 'Reading', { progress: 0, message: 'Reading' }],
    ['an object', { progress: 1, total: 4, message: 'x', other: 1 }, { progress: 1, total: 4, message: 'x' }],
    ['anything else', { step: 'one' }, { progress: 0 }],
    ['no number', Number.NaN, { progress: 0 }],
  ])('%s is progress', (_what, report, params) => {
    expect(new ReportReader('t', undefined).read(report)).toEqual(progress(params))
  })

  test('progress only grows', () => {
    const reader = new ReportReader('t', undefined)
    const reports = [0, 5, 5, 'on', 2, 7]
    expect(reports.map((report) => reader.read(report)?.params.progress)).toEqual([0, 5, undefined, 6, undefined, 7])
  })

  test('without a token there is no progress, without a level no log', () => {
    const reader = new ReportReader(undefined, undefined)
    expect([reader.read(1), reader.read({ level: 'error', data: 'x' })]).toEqual([undefined, undefined])
  })

  test('a log line goes out from the level on that was asked for', () => {
    const reader = new ReportReader(undefined, 'warning')
    expect(reader.read({ level: 'notice', data: 'x' })).toBeUndefined()
    expect(reader.read({ level: 'error', data: 'x', logger: 'me' })).toEqual({
      method: 'notifications/message',
      params: { level: 'error', data: 'x', logger: 'me' },
    })
  })
})
