import { describe, expect, test } from 'vitest'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { ToolServer } from './tool-server.ts'

function yard() {
  const clock = new ManualClock()
  const { registry, executor, log, add } = toolyard()
  const server = new ToolServer({ registry, executor, version: '1', clock, log })
  const told: string[] = []
  const stop = server.onChange((what) => void told.push(what))
  return { clock, server, log, told, stop, add: (name: string) => add(name, async () => 1) }
}

describe('ToolServer reports changes', () => {
  test('once for many in a row, however long the row is', () => {
    const { clock, told, add } = yard()
    for (let index = 0; index < 30; index++) {
      add(`tool_${index}`)
      clock.advance(10)
    }
    expect(told).toEqual(['tools', 'tools', 'tools'])
    clock.advance(1_000)
    expect(told).toHaveLength(3)
  })

  test('not to those who have stopped listening, and not when it is closed', () => {
    const { clock, server, told, stop, add } = yard()
    stop()
    add('one')
    clock.advance(100)
    server.onChange(() => void told.push('late'))
    add('two')
    server.close()
    clock.advance(100)
    add('three')
    expect([told, clock.pending]).toEqual([[], 0])
  })

  test('to all listeners even if one fails', () => {
    const { clock, server, told, log, add } = yard()
    server.onChange(() => {
      throw new Error('gone')
    })
    server.onChange(() => void told.push('last'))
    add('one')
    clock.advance(100)
    expect(told).toEqual(['tools', 'last'])
    expect(log.lines.some(({ message }) => message === 'A change notification could not be sent')).toBe(true)
  })
})
