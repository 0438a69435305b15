import { describe, expect, test } from 'vitest'
import { replying } from './fixtures/knowledge.ts'

const text = 'Ada Lovelace met Charles Babbage in London on 5 June 1833.'

describe('extract_entities (30 s)', () => {
  test('[7.3-1] extracts entities by type', async () => {
    const { execute, model, registry } = await replying(
      '{"entities": {"people": ["Ada Lovelace", "Charles Babbage"], "places": ["London"], "organizations": []}}',
      '{"entities": {"dates": ["5 June 1833"], "products": []}}',
    )
    expect(registry.get('extract_entities')).toMatchObject({ timeout_ms: 30_000 })
    expect(await execute('extract_entities', { text })).toMatchObject({
      result: { entities: { people: ['Ada Lovelace', 'Charles Babbage'], places: ['London'], organizations: [] } },
    })
    expect(await execute('extract_entities', { text, entity_types: ['dates', 'products'] })).toMatchObject({
      result: { entities: { dates: ['5 June 1833'], products: [] } },
    })
    expect(model.requests[1]?.messages[0]?.content).toContain('["dates","products"]')
  })

  test('[7.3-2] gives empty lists for empty text and for a reply it cannot use', async () => {
    const { execute, model } = await replying('', 'I found nobody.', 'Really.', '{"people": 5}', '["Ada"]')
    const none = { result: { entities: { people: [], places: [], organizations: [] } } }
    expect(await execute('extract_entities', { text: '' })).toMatchObject(none)
    expect(model.requests).toEqual([])
    for (let call = 0; call < 3; call++) expect(await execute('extract_entities', { text })).toMatchObject(none)
    expect(await execute('extract_entities', { text: ' ', entity_types: ['dates'] })).toMatchObject({
      result: { entities: { dates: [] } },
    })
  })
})
