import { describe, expect, onTestFinished, test } from 'vitest'
import { connectionCode, mayHaveLeft } from '../../../core/failure.ts'
import { ManualClock } from '../../../testing/stand-ins.ts'
import { AddressRules } from './address-rules.ts'
import { ask } from './fixtures/ask.ts'
import { NOT_DIALLED } from './fixtures/recorded-agent.ts'
import { type AgentParts, type DialTarget, guardedAgent } from './guarded-agent.ts'
import { RefusedAddress } from './network-rules.ts'

function agentWith(parts: AgentParts) {
  const agent = guardedAgent(new AddressRules(), parts)
  onTestFinished(() => agent.destroy())
  return agent
}

const failingWith = (code: string) => Object.assign(new Error(code), { code })

describe('names', () => {
  test.each(['ENOTFOUND', 'EAI_AGAIN'])(
    'that do not resolve fail with %s, which says that nothing left',
    async (code) => {
      const agent = agentWith({ lookup: () => Promise.reject(failingWith(code)) })
      const failed = await ask(agent, new URL('http://api.example.com/'))
      expect(connectionCode(failed)).toBe(code)
      expect(mayHaveLeft(code)).toBe(false)
    },
  )

  test('without any address are not found', async () => {
    const clock = new ManualClock()
    const agent = agentWith({ clock, lookup: async () => [] })
    expect(connectionCode(await ask(agent, new URL('http://api.example.com/')))).toBe('ENOTFOUND')
    expect(clock.pending).toBe(0)
  })

  test('are looked up once for connections that are opened at the same time, and again later', async () => {
    const waiting: ((answer: string[]) => void)[] = []
    const dialled: DialTarget[] = []
    const agent = agentWith({
      lookup: () => new Promise((resolve) => waiting.push(resolve)),
      dial: async (target) => {
        dialled.push(target)
        throw failingWith(NOT_DIALLED)
      },
    })
    const url = new URL('http://api.example.com/')
    const asked = Array.from({ length: 20 }, () => ask(agent, url))
    expect(waiting).toHaveLength(1)
    waiting[0]?.(['1.1.1.1'])
    await Promise.all(asked)
    expect(dialled).toHaveLength(20)
    const again = ask(agent, url)
    expect(waiting).toHaveLength(2)
    waiting[1]?.(['10.0.0.1'])
    expect(await again).toBeInstanceOf(RefusedAddress)
  })

  test('that are never answered fail after 10 seconds, as a connection that took too long', async () => {
    const clock = new ManualClock()
    const agent = agentWith({ clock, lookup: () => new Promise(() => undefined) })
    let isOver = false
    const asked = ask(agent, new URL('http://api.example.com/')).finally(() => {
      isOver = true
    })
    clock.advance(9_999)
    await new Promise(setImmediate)
    expect(isOver).toBe(false)
    clock.advance(1)
    expect(connectionCode(await asked)).toBe('UND_ERR_CONNECT_TIMEOUT')
    expect(clock.pending).toBe(0)
  })
})
