import { createHmac, hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { GENESIS } from './chain-row.ts'
import { call, KEY, openLedger, run, settle } from './fixtures/open-ledger.ts'

const HOUR = 3_600_000

describe('append', () => {
  test('writes a chain whose hashes anybody can compute', async () => {
    const { ledger, stored } = openLedger()
    await ledger.append([call(), call({ tool: 'other', code: 'TIMEOUT', unknown: true, runId: 'run-9' })], [])
    const [first, second] = stored.rows
    const params = createHmac('sha256', KEY).update('{"city":"Hamburg"}').digest('hex')
    const at = Date.UTC(2026, 0, 1)
    const one = [GENESIS, 'server-1', 1, at, 'acme', 'key-1', 'rest', null, 'weather', 'schema-1', params]
    const hashOne = hash('sha256', JSON.stringify([...one, 'success', null, 12.5, 1]))
    expect(first).toMatchObject({ seq: 1, params_hash: params, outcome: 'success', hash: hashOne })
    const two = [hashOne, 'server-1', 2, at, 'acme', 'key-1', 'rest', 'run-9', 'other', 'schema-1', params]
    const hashTwo = hash('sha256', JSON.stringify([...two, 'unknown', 'TIMEOUT', 12.5, 1]))
    expect(second).toMatchObject({ seq: 2, outcome: 'unknown', code: 'TIMEOUT', hash: hashTwo })
  })

  test('the order of keys in the parameters does not matter to their hash, and they are not written', async () => {
    const { ledger, stored } = openLedger()
    const params = ['{"b":[1,{"y":2,"x":"secret"}],"a":0}', '{"a":-0,"b":[1.0,{"x":"secret","y":2}]}', null, 'no JSON']
    await ledger.append(
      params.map((text) => call({ params: text })),
      [],
    )
    const hashes = stored.rows.map(({ params_hash }) => params_hash)
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/)
    expect(hashes).toEqual([hashes[0], hashes[0], null, null])
    expect(JSON.stringify(stored.rows)).not.toContain('secret')
  })

  test('goes on over several batches without a gap, whatever order they settle in', async () => {
    const { ledger, stored } = openLedger()
    await Promise.all(Array.from({ length: 5 }, (_, index) => ledger.append([call({ at: index }), call()], [])))
    expect(stored.rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect((await ledger.verify()).faults).toEqual([])
  })

  test('a write that fails rejects its batch and leaves the chain whole', async () => {
    const { ledger, stored, tables } = openLedger()
    await ledger.append([call()], [])
    tables.before = (method) => {
      if (method === 'write') throw new Error('disk full')
    }
    await expect(ledger.append([call({ tool: 'lost' })], [])).rejects.toThrow('disk full')
    tables.before = () => {}
    await ledger.append([call({ tool: 'next' })], [])
    expect(stored.rows.map(({ seq, tool }) => [seq, tool])).toEqual([
      [1, 'weather'],
      [2, 'next'],
    ])
    expect((await ledger.verify()).faults).toEqual([])
    const { total } = await ledger.executions({ tenant: 'acme', window: '1h' })
    expect(total).toBe(2)
  })

  test('a batch that was committed although the answer was lost is not a failure', async () => {
    const { ledger, stored, tables } = openLedger()
    tables.after = (method) => {
      if (method === 'write') throw new Error('connection lost')
    }
    await ledger.append([call(), call()], [])
    tables.after = () => {}
    await ledger.append([call()], [])
    expect(stored.rows.map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(3)
  })

  test.each(['the same batch', 'another batch'])(
    'where nobody can tell, %s is appended after it is known',
    async (kind) => {
      const { ledger, stored, tables } = openLedger()
      const batch = [call({ tool: 'a' }), call({ tool: 'b' })]
      tables.after = (method) => {
        if (method === 'write') throw new Error('connection lost')
      }
      tables.before = (method) => {
        if (method === 'stretch') throw new Error('still away')
      }
      await expect(ledger.append(batch, [run()])).rejects.toThrow('connection lost')
      await expect(ledger.append(batch, [run()])).rejects.toThrow('still away')
      tables.after = tables.before = () => {}
      await ledger.append(kind === 'the same batch' ? batch : [call({ tool: 'c' })], [run()])
      const tools = stored.rows.map(({ tool }) => tool)
      expect(tools).toEqual(kind === 'the same batch' ? ['a', 'b'] : ['a', 'b', 'c'])
      expect(stored.runs.size).toBe(1)
      expect((await ledger.verify()).faults).toEqual([])
    },
  )

  test('reports a foreign row in its chain', async () => {
    const { ledger, stored } = openLedger()
    await ledger.append([call()], [])
    stored.rows.push({ ...(stored.rows[0] as (typeof stored.rows)[0]), seq: 2 })
    await expect(ledger.append([call()], [])).rejects.toThrow(
      "Another process has written at or after row 2 of the audit chain 'server-1': run 'toolyard audit verify'",
    )
  })

  test('texts that an engine cannot hold are marked, and names that callers made up are cut', async () => {
    const { ledger, stored } = openLedger()
    const tool = `a\0b\ud800${'x'.repeat(500)}`
    await ledger.append([call({ tool, code: 'TOOL_NOT_FOUND', caller: '\udc00' })], [run({ answer: 'a\0b\ud800' })])
    expect(stored.rows[0]).toMatchObject({ tool: `a\ufffdb\ufffd${'x'.repeat(196)}`, caller: '\ufffd' })
    expect(stored.runs.get('run-1')?.answer).toBe('a\ufffdb\ufffd')
    const { tools } = await ledger.executions({ tenant: 'acme', window: '1h' })
    expect(Object.keys(tools)).toEqual(['(unknown tools)'])
  })

  test('numbers that are none keep nothing from being written', async () => {
    const { ledger, stored } = openLedger()
    const { NaN: none, POSITIVE_INFINITY: infinite } = Number
    const odd = run({ duration_ms: none, iterations: infinite, prompt_tokens: -1, cost: none })
    await ledger.append([call({ at: none, durationMs: infinite, attempts: none })], [odd])
    expect(stored.rows[0]).toMatchObject({ at: 0, duration_ms: 0, attempts: 0 })
    expect(stored.runs.get('run-1')).toMatchObject({ duration_ms: 0, iterations: 0, prompt_tokens: 0, cost: null })
    expect((await ledger.models({ tenant: 'acme', window: '1h' })).models['openai:gpt-4o']).toMatchObject({ runs: 1 })
  })

  test('nothing is taken after the end', async () => {
    const { ledger } = openLedger()
    await ledger.close()
    await expect(ledger.append([call()], [])).rejects.toThrow('The ledger is closed')
  })
})

describe('seals', () => {
  test('close a stretch when its hour is over, and at the end', async () => {
    const { ledger, stored, clock, log } = openLedger()
    const at = clock.wall()
    await ledger.append([call({ at: at + 3 }), call({ at: at + 5 })], [])
    await ledger.append([call({ at: at + 4 })], [])
    clock.advance(HOUR)
    await ledger.append([call({ at: at + 9 })], [])
    await ledger.close()
    expect(stored.seals).toMatchObject([
      {
        chain: 'server-1',
        fromSeq: 1,
        toSeq: 3,
        beforeHash: GENESIS,
        firstAt: at + 3,
        lastAt: at + 5,
        expiredAt: null,
      },
      { chain: 'server-1', fromSeq: 4, toSeq: 4, beforeHash: stored.rows[2]?.hash, lastHash: stored.rows[3]?.hash },
    ])
    expect(log.at('info')).toEqual([3, 4].map((seq) => ({ chain: 'server-1', seq, hash: stored.rows[seq - 1]?.hash })))
    expect(await ledger.verify()).toEqual({ chains: 1, rows: 4, expired: 0, seals: 2, unsealed: 0, faults: [] })
  })

  test('are made by the clock without calls', async () => {
    const { ledger, stored, clock } = openLedger()
    await ledger.append([call()], [])
    clock.advance(1_000)
    await settle()
    expect(stored.seals).toEqual([])
    clock.advance(HOUR + 30_000)
    await settle()
    expect(stored.seals).toMatchObject([{ fromSeq: 1, toSeq: 1 }])
  })

  test('an instance that wrote nothing leaves nothing', async () => {
    const { ledger, stored } = openLedger()
    await ledger.close()
    expect(stored).toMatchObject({ rows: [], seals: [] })
  })

  test('hold a bounded number of rows', async () => {
    const { ledger, stored } = openLedger()
    await ledger.append(new Array(50_000).fill(call({ params: null })), [])
    await ledger.append([call()], [])
    await ledger.close()
    expect(stored.seals.map(({ fromSeq, toSeq }) => [fromSeq, toSeq])).toEqual([
      [1, 50_000],
      [50_001, 50_001],
    ])
  })

  test('are made from memory, not from the table', async () => {
    const { ledger, stored } = openLedger()
    await ledger.append([call(), call()], [])
    const { lastHash } = { lastHash: stored.rows[1]?.hash }
    stored.rows[1] = { ...(stored.rows[1] as (typeof stored.rows)[0]), tool: 'forged' }
    await ledger.close()
    expect(stored.seals).toMatchObject([{ toSeq: 2, lastHash }])
  })

  test('that fail are made later, and hold up no append', async () => {
    const { ledger, stored, clock, tables, log } = openLedger()
    await ledger.append([call()], [])
    clock.advance(HOUR)
    tables.before = (method) => {
      if (method === 'putSeal') throw new Error('no')
    }
    await ledger.append([call()], [])
    await ledger.append([call()], [])
    expect(log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'The audit chain of this server could not be sealed',
    ])
    tables.before = () => {}
    await ledger.append([call()], [])
    expect(stored.seals).toMatchObject([{ fromSeq: 1, toSeq: 3 }])
    clock.advance(HOUR)
    tables.before = (method) => {
      if (method === 'putSeal') throw new Error('no, again')
    }
    await ledger.append([call()], [])
    expect(log.at('warn')).toHaveLength(2)
  })
})
