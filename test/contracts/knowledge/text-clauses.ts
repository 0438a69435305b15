import assert from 'node:assert/strict'
import type { KnowledgeStore, MetadataFilter } from '../../../src/core/storage/knowledge-store.ts'
import { chunk, documentsOf, textsOf, whole, withDocs } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { NUL, refuses } from '../storage/contract-store.ts'

const find = async (knowledge: KnowledgeStore, text: string, filter?: MetadataFilter): Promise<string[]> =>
  documentsOf(await knowledge.byText({ tenant: 'acme', collection: 'docs', most: 10, text, ...(filter && { filter }) }))

/** Each text a document that is named by its first word. */
async function putAll(knowledge: KnowledgeStore, texts: readonly string[]): Promise<void> {
  for (const text of texts) await knowledge.put(whole(text.split(' ')[0] as string, [text]))
}

const FILLER = 'and then a good deal more was said about it that evening by everybody who had come'

export const textClauses: KnowledgeClauses = {
  'text: chunks that have any of the words are found, those that have more of them first': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, [
      `both harbour lighthouse ${FILLER}`,
      `first harbour ${FILLER}`,
      `second lighthouse ${FILLER}`,
      `none ${FILLER}`,
    ])
    const query = { tenant: 'acme', collection: 'docs', most: 10, text: 'Where is the lighthouse of the harbour?' }
    const hits = await knowledge.byText(query)
    assert.equal(hits[0]?.document_id, 'both')
    assert.deepEqual(documentsOf(hits).toSorted(), ['both', 'first', 'second'])
    const scores = hits.map(({ score }) => score)
    assert.ok(scores.every((score) => score > 0))
    assert.deepEqual(
      scores,
      scores.toSorted((a, b) => b - a),
    )
  },

  'text: no more are given than are asked for, the best': async (store) => {
    const knowledge = await withDocs(await store.open())
    const texts = Array.from({ length: 30 }, (_, index) => `stone ${'stone '.repeat(index % 5)}${FILLER}`)
    await knowledge.put(whole('a', texts))
    const most = async (count: number) =>
      knowledge.byText({ tenant: 'acme', collection: 'docs', most: count, text: 'stone' })
    assert.equal((await most(1_000)).length, 30)
    assert.deepEqual(await most(7), (await most(1_000)).slice(0, 7))
    for (const count of [0, -1, 1.5, 1_001, Number.NaN]) await refuses(most(count))
  },

  'text: nothing in a question is syntax': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, ['stone near harbour', 'bread'])
    const around = ['"', "'", '*', '(', ')', ':', '-', '+', '^', '{', '}', '\\', '|', '&', '!', '<->', ':*', '%', ';--']
    for (const sign of around) {
      assert.deepEqual(await find(knowledge, sign), [], sign)
      assert.deepEqual(await find(knowledge, `${sign}harbour${sign}`), ['stone'], sign)
    }
    for (const text of ['heading:harbour', 'NEAR(harbour)', 'NOT harbour', 'harbour AND nothing', 'harbour:A*']) {
      assert.deepEqual(await find(knowledge, text), ['stone'], text)
    }
    assert.deepEqual(await find(knowledge, 'harb*'), [])
    assert.deepEqual(await find(knowledge, 'text:nothing'), [])
    assert.deepEqual(await find(knowledge, `harbour ${NUL}`), ['stone'])
  },

  'text: a question without a word that says something finds nothing': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, ['what is the stone of them'])
    for (const text of ['', ' \n', '?!', 'the', 'What is it of, and who are they?', '👩‍🚀']) {
      assert.deepEqual(await find(knowledge, text), [], text)
    }
  },

  'text: capitals, accents and endings make no difference': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, ['Straßencafé open', 'CONNECTING to servers', 'Ünïcode ﬁle', 'naïve'])
    assert.deepEqual(await find(knowledge, 'STRASSENCAFE straßencafe'), ['Straßencafé'])
    assert.deepEqual(await find(knowledge, 'connected'), ['CONNECTING'])
    assert.deepEqual(await find(knowledge, 'a server connects'), ['CONNECTING'])
    assert.deepEqual(await find(knowledge, 'unicode'), ['Ünïcode'])
    assert.deepEqual(await find(knowledge, 'files'), ['Ünïcode'])
    assert.deepEqual(await find(knowledge, 'NAI\u0308VE'), ['naïve'])
  },

  'text: names of code, files and addresses are found by their parts': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, ['tools.max_iterations', 'toolyard.config.json', 'https://example.org/api/jobs?x=1', '3.5'])
    assert.deepEqual(await find(knowledge, 'iterations'), ['tools.max_iterations'])
    assert.deepEqual(await find(knowledge, 'max_iterations'), ['tools.max_iterations'])
    assert.deepEqual(await find(knowledge, 'config'), ['toolyard.config.json'])
    assert.deepEqual(await find(knowledge, 'jobs'), ['https://example.org/api/jobs?x=1'])
    assert.deepEqual(await find(knowledge, '5'), ['3.5'])
  },

  'text: scripts without spaces are searched by adjacent characters': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, ['東京都の天気は晴れです', '京都の寺', '날씨가좋다', 'हिन्दी भाषा', 'Привет, мир'])
    assert.deepEqual((await find(knowledge, '天気'))[0], '東京都の天気は晴れです')
    assert.deepEqual(await find(knowledge, '寺'), [])
    assert.deepEqual((await find(knowledge, '京都の寺'))[0], '京都の寺')
    assert.deepEqual(await find(knowledge, '날씨'), ['날씨가좋다'])
    assert.deepEqual(await find(knowledge, 'हिन्दी'), ['हिन्दी'])
    assert.deepEqual(await find(knowledge, 'МИР'), ['Привет,'])
  },

  'text: a word in the heading counts more than one in the text': async (store) => {
    const knowledge = await withDocs(await store.open())
    const put = (id: string, heading: string, text: string) =>
      knowledge.put(whole(id, [], { chunks: [chunk(0, `${text} ${FILLER}`, { heading })] }))
    await put('text', 'bread', 'stone')
    await put('heading', 'stone', 'bread')
    for (let index = 0; index < 5; index++) await put(`filler ${index}`, '', '')
    assert.deepEqual(await find(knowledge, 'stone'), ['heading', 'text'])
    assert.deepEqual(await find(knowledge, 'bread'), ['text', 'heading'])
  },

  'text: a filter selects documents with all its values': async (store) => {
    const knowledge = await withDocs(await store.open())
    const put = (id: string, metadata: Record<string, string>) => knowledge.put(whole(id, ['stone'], { metadata }))
    await put('both', { language: 'en', kind: 'guide', note: '1' })
    await put('one', { language: 'en', kind: 'reference' })
    await put('other', { language: 'de', kind: 'guide' })
    await put('quoted', { language: 'e\'n"\\' })
    await put('bare', {})
    const filtered = async (filter: MetadataFilter) => (await find(knowledge, 'stone', filter)).toSorted()
    assert.deepEqual(await filtered({ language: 'en' }), ['both', 'one'])
    assert.deepEqual(await filtered({ language: 'en', kind: 'guide' }), ['both'])
    assert.deepEqual(await filtered({ language: 'e\'n"\\' }), ['quoted'])
    for (const filter of [{ language: 'e' }, { language: 'EN' }, { en: 'language' }, { language: '' }]) {
      assert.deepEqual(await filtered(filter as Record<string, string>), [])
    }
    assert.equal((await filtered({})).length, 5)
    await refuses(find(knowledge, 'stone', { language: NUL }))
    await refuses(find(knowledge, 'stone', { language: 1 } as unknown as MetadataFilter))
  },

  'text: very long questions are answered': async (store) => {
    const knowledge = await withDocs(await store.open())
    await putAll(knowledge, ['stone', `long ${'x'.repeat(5_000)}`])
    const words = Array.from({ length: 20_000 }, (_, index) => `word${index}`)
    assert.deepEqual(await find(knowledge, ['stone', ...words].join(' ')), ['stone'])
    assert.deepEqual(await find(knowledge, 'stone '.repeat(100_000)), ['stone'])
    assert.deepEqual(await find(knowledge, 'x'.repeat(5_000)), ['long'])
  },

  'text: the words of one collection are not found in another': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.open('acme', 'other', null)
    await knowledge.put(whole('a', ['stone']))
    await knowledge.put(whole('a', ['stone of another'], { collection: 'other' }))
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone'])
    assert.deepEqual(await textsOf(knowledge, 'stone', 'other'), ['stone of another'])
  },
}
