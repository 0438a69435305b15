import { describe, expect, test } from 'vitest'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { PACKAGE } from '../../core/execution/tool-view.ts'
import { later } from '../../core/fixtures/code-yard.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { JoinedTools, MAX_PLAIN_NAMES, type Offered } from './joined-tools.ts'
import { type ServerTool, serverTool } from './listed-tool.ts'
import { MemoryToolNames, type NameOwners, type ToolNames } from './tool-names.ts'

const offer = (server: string, ...tools: string[]): Offered => ({
  server,
  settled: true,
  tools: tools.map((name) => serverTool({ name, inputSchema: { type: 'object' } }, server) as ServerTool),
})
const starting = (server: string): Offered => ({ server, settled: false, tools: [] })

const definition = { description: 'Local.', parameters: { type: 'object' }, implementation: { type: 'mock' } }

function yard(configured: readonly string[], names: ToolNames = new MemoryToolNames(), registry = new ToolRegistry()) {
  const log = captureLog()
  const joined = new JoinedTools({ registry, log, names, configured })
  const owners = () =>
    Object.fromEntries(
      registry
        .definitions()
        .map(({ name, implementation }) => [name, [implementation.server, implementation.tool].join(' ').trim()]),
    )
  return { joined, registry, log, names, owners, set: (...offered: Offered[]) => joined.set(offered) }
}

describe('a name with the prefix of a configured server', () => {
  test('is not given to another server, whether its server is connected or not', async () => {
    const { set, owners } = yard(['bad', 'bank'])
    await set(offer('bad', 'bank__transfer', 'Bank__pay', 'bank.:close'))
    expect(owners()).toEqual({
      bad__bank__transfer: 'bad bank__transfer',
      bad__Bank__pay: 'bad Bank__pay',
      'bad__bank.:close': 'bad bank.:close',
    })
    await set(offer('bad', 'bank__transfer'), offer('bank', 'bank__transfer', 'transfer'))
    expect(owners()).toEqual({
      bad__bank__transfer: 'bad bank__transfer',
      bank__transfer: 'bank bank__transfer',
      transfer: 'bank transfer',
    })
  })

  test('is not made by the prefix of another server either', async () => {
    const { set, owners, log } = yard(['a', 'a__b'])
    await set(offer('a', 'b__x', 'y'), starting('a__b'))
    expect(owners()).toEqual({ b__x: 'a b__x', y: 'a y' })
    const taken = yard(['local', 'a', 'a__b'])
    taken.registry.register({ ...definition, name: 'b__x' })
    await taken.set(offer('a', 'b__x'))
    expect(taken.owners()).toEqual({ b__x: '' })
    expect(taken.log.at('warn')).toEqual([
      {
        server: 'a',
        tool: 'b__x',
        owner: '',
        problem:
          "Tool 'b__x' of MCP server 'a' was left out: its name belongs to another tool, and it can't have 'a__b__x'. Rename the tool or the server",
      },
    ])
    expect(log.at('warn')).toEqual([])
  })

  test('belongs to the server with the longest prefix', async () => {
    const { set, owners } = yard(['a', 'a__b'])
    await set(offer('a', 'x', 'a__b__x'), offer('a__b', 'x'))
    expect(owners()).toEqual({ x: 'a x', a__a__b__x: 'a a__b__x', a__b__x: 'a__b x' })
  })

  test('is given to its own server without a claim', async () => {
    const { set, owners, names } = yard(['bank'])
    await set(offer('bank', 'bank__transfer'))
    expect(owners()).toEqual({ bank__transfer: 'bank bank__transfer' })
    expect([...(await names.read())]).toEqual([])
  })

  test('is lost when its prefix becomes that of a server', async () => {
    const names = new MemoryToolNames()
    await yard(['bad'], names).set(offer('bad', 'bank__transfer'))
    const { set, owners } = yard(['bad', 'bank'], names)
    await set(offer('bad', 'bank__transfer'))
    expect(owners()).toEqual({ bad__bank__transfer: 'bad bank__transfer' })
  })
})

describe('a plain name', () => {
  test('stays with the server that had it first, while that is away and when it lists it no more', async () => {
    const names = new MemoryToolNames()
    await yard(['bad', 'bank'], names).set(offer('bad'), offer('bank', 'transfer'))
    const { set, owners } = yard(['bad', 'bank'], names)
    await set(offer('bad', 'transfer'), starting('bank'))
    expect(owners()).toEqual({ bad__transfer: 'bad transfer' })
    await set(offer('bad', 'transfer'), offer('bank', 'balance'))
    expect(owners()).toEqual({ bad__transfer: 'bad transfer', balance: 'bank balance' })
    await set(offer('bad', 'transfer'), offer('bank', 'transfer'))
    expect(owners()).toEqual({ bad__transfer: 'bad transfer', transfer: 'bank transfer' })
  })

  test.each(['removed', 'renamed'])('is free if its server was %s, with a warning', async (how) => {
    const names = new MemoryToolNames()
    await yard(['bad', 'bank'], names).set(offer('bank', 'transfer'))
    const { set, owners, log } = yard(how === 'removed' ? ['bad'] : ['bad', 'bank2'], names)
    await set(offer('bad', 'transfer'))
    expect(owners()).toEqual({ transfer: 'bad transfer' })
    expect(log.at('warn')).toEqual([{ server: 'bad', tool: 'transfer', before: 'bank' }])
  })

  test('with the prefix of a server that was removed is free, with a warning', async () => {
    const names = new MemoryToolNames()
    await yard(['bad', 'bank'], names).set(offer('bank', 'transfer'))
    const { set, log } = yard(['bad'], names)
    await set(offer('bad', 'bank__close', 'look'))
    expect(log.at('warn')).toEqual([{ server: 'bad', tool: 'bank__close', before: 'bank' }])
  })

  test('belongs to the earlier server if several list it for the first time', async () => {
    const { set, owners } = yard(['one', 'two'])
    await set(offer('one', 'look'), offer('two', 'look'))
    expect(owners()).toEqual({ look: 'one look', two__look: 'two look' })
  })

  test('is not given to a later server until the first attempts of the earlier ones are over', async () => {
    const { set, owners, names, log } = yard(['one', 'two', 'three'])
    const [two, three] = [offer('two', 'look', 'hear', 'two__see'), offer('three', 'look')]
    await set(starting('one'), two, three)
    expect(owners()).toEqual({
      two__look: 'two look',
      two__hear: 'two hear',
      two__see: 'two two__see',
      three__look: 'three look',
    })
    expect([...(await names.read())]).toEqual([])
    await set(offer('one', 'look'), two, three)
    expect(owners()).toEqual({
      look: 'one look',
      two__look: 'two look',
      hear: 'two hear',
      two__see: 'two two__see',
      three__look: 'three look',
    })
    await set({ ...starting('one'), settled: true }, two)
    expect(owners()).toEqual({ two__look: 'two look', hear: 'two hear', two__see: 'two two__see' })
    expect(log.at('warn')).toEqual([])
  })

  test('goes to the first server that lists it once an earlier one has failed', async () => {
    const { set, owners, names } = yard(['one', 'two', 'three'])
    const [two, three] = [offer('two', 'look'), offer('three', 'look')]
    await set(starting('one'), two, three)
    await set({ ...starting('one'), settled: true }, two, three)
    expect(owners()).toEqual({ look: 'two look', three__look: 'three look' })
    expect([...(await names.read())]).toEqual([['look', ['two']]])
    await set(offer('one', 'look'), two, three)
    expect(owners()).toEqual({ one__look: 'one look', look: 'two look', three__look: 'three look' })
  })

  test('that no server has is not given before a server that a reload adds has answered', async () => {
    const names = new MemoryToolNames()
    await yard(['two'], names).set(offer('two', 'look'))
    const { set, owners } = yard(['one', 'two'], names)
    await set(starting('one'), offer('two', 'look', 'hear'))
    expect(owners()).toEqual({ look: 'two look', two__hear: 'two hear' })
    await set(offer('one', 'look', 'hear'), offer('two', 'look', 'hear'))
    expect(owners()).toEqual({ one__look: 'one look', look: 'two look', hear: 'one hear', two__hear: 'two hear' })
  })

  test('that can have no prefix yet is left out without a warning', async () => {
    const { set, owners, log } = yard(['one', 'a', 'a__b'])
    await set(starting('one'), offer('a', 'b__x'))
    expect(owners()).toEqual({})
    await set(offer('one'), offer('a', 'b__x'))
    expect(owners()).toEqual({ b__x: 'a b__x' })
    expect(log.at('warn')).toEqual([])
  })

  test('is claimed while the tool keeps the prefixed name that it has', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const memory = new MemoryToolNames()
    const names: ToolNames = {
      read: () => memory.read(),
      claim: async (...claim) => {
        await held
        return memory.claim(...claim)
      },
    }
    const { set, owners } = yard(['one', 'two'], names)
    const two = offer('two', 'look')
    await set(starting('one'), two)
    const settled = set({ ...starting('one'), settled: true }, two)
    await later(0)
    expect(owners()).toEqual({ two__look: 'two look' })
    release()
    await settled
    expect(owners()).toEqual({ look: 'two look' })
  })

  test('is not given before its claim succeeds, nor if another server of the installation was faster', async () => {
    const answers: NameOwners[] = [new Map([['transfer', ['bank']]])]
    const names: ToolNames = {
      read: async () => new Map(),
      claim: async () => {
        expect(owners()).toEqual({})
        return answers.shift() ?? Promise.reject(new Error('The store is away'))
      },
    }
    const { set, owners } = yard(['bad', 'bank'], names)
    await set(offer('bad', 'transfer'))
    expect(owners()).toEqual({ bad__transfer: 'bad transfer' })
    const failing = yard(['bad'], { ...names, claim: () => Promise.reject(new Error('The store is away')) })
    await expect(failing.set(offer('bad', 'transfer'))).rejects.toThrow('The store is away')
    expect(failing.owners()).toEqual({})
  })

  test('is given by local tools, back to the server that had it first', async () => {
    const { set, owners, registry } = yard(['one', 'two'])
    await set(offer('one', 'look'), offer('two', 'look'))
    registry.register({ ...definition, name: 'look' })
    await later(1)
    expect(owners()).toEqual({ look: '', one__look: 'one look', two__look: 'two look' })
    registry.unregister('look')
    await later(1)
    expect(owners()).toEqual({ look: 'one look', two__look: 'two look' })
  })

  test('is not taken from a tool of a package, but given back by it', async () => {
    const names = new MemoryToolNames()
    const packaged = { ...definition, name: 'charge', [PACKAGE]: '@acme/tools' }
    const first = yard(['bad'], names)
    first.registry.register(packaged)
    await first.set(offer('bad', 'charge'))
    expect(first.owners()).toEqual({ charge: '', bad__charge: 'bad charge' })
    await yard(['bank'], names).set(offer('bank', 'charge'))
    const second = yard(['bank'], names)
    second.registry.register(packaged)
    await second.set(offer('bank', 'charge'))
    expect(second.owners()).toEqual({ charge: 'bank charge' })
  })

  test('is not taken from the other name of a LangChain tool', async () => {
    const { set, owners, registry } = yard(['bad'])
    registry.register({
      name: 'pay',
      lc_name: 'Payment',
      description: 'Pays.',
      schema: { type: 'object' },
      invoke: async () => 'paid',
    })
    await set(offer('bad', 'Payment'))
    expect(owners()).toMatchObject({ bad__Payment: 'bad Payment' })
    expect(registry.find('Payment')).toBe(registry.get('pay'))
  })

  test('is given to a server 5,000 times at most', async () => {
    const names = new MemoryToolNames()
    const many = Array.from({ length: MAX_PLAIN_NAMES }, (_, index) => `old_${index}`)
    await names.claim(new Map(many.map((name) => [name, 'bad'])), ['bad'])
    const { set, owners } = yard(['bad'], names)
    await set(offer('bad', 'one_more', 'old_7'))
    expect(owners()).toEqual({ bad__one_more: 'bad one_more', old_7: 'bad old_7' })
  })
})

test('a tool that can not be registered is left out, with one warning, and takes no other with it', async () => {
  const { set, owners, log } = yard(['one', 'two'])
  let deep: JsonSchema = {}
  for (let level = 0; level < 513; level++) deep = { items: deep }
  const one = offer('one', 'deep', 'look')
  const tools = one.tools.map((tool) => (tool.name === 'deep' ? { ...tool, inputSchema: deep } : tool))
  for (let time = 0; time < 2; time++) await set({ ...one, tools }, offer('two', 'see'))
  expect(owners()).toEqual({ look: 'one look', see: 'two see' })
  expect(log.lines.filter(({ message }) => message === 'MCP tool left out')).toHaveLength(1)
})
