import { expect, test } from 'vitest'
import { shownMessages } from './shown-messages.ts'

test('filters messages by a part of their method, newest first', () => {
  const message = (number: number, method?: string) =>
    ({ number, time: '', direction: 'sent', kind: 'request', ...(method !== undefined && { method }) }) as const
  const all = [message(1, 'tools/list'), message(2, 'tools/call'), message(3)]
  const numbers = (method: string) => shownMessages(all, method).map(({ number }) => number)
  expect(numbers('')).toEqual([3, 2, 1])
  expect(numbers('TOOLS/C')).toEqual([2])
})
