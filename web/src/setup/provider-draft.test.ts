import { expect, test } from 'vitest'
import { draftFor, providerChange, providerProblems, renamed, testedDraft } from './provider-draft.ts'

const STORE = { enabled: true, names: [] }
const NO_STORE = { enabled: false, names: [] }

test('a local provider needs no key', () => {
  expect(draftFor('openai', STORE).key).toEqual({
    from: 'secret',
    secret: 'OPENAI_API_KEY',
    variable: 'OPENAI_API_KEY',
  })
  expect(draftFor('openai', NO_STORE).key.from).toBe('variable')
  expect(draftFor('ollama', STORE)).toMatchObject({ key: { from: 'none' }, baseUrl: 'http://127.0.0.1:11434' })
})

test('another provider keeps the model that was typed', () => {
  const typed = { ...draftFor('openai', STORE), model: 'gpt-4o', title: 'Mine' }
  expect(draftFor('anthropic', STORE, typed)).toMatchObject({
    model: 'gpt-4o',
    title: 'Mine',
    key: { secret: 'ANTHROPIC_API_KEY' },
  })
})

test('a change has a stand-in instead of the key until it is given', () => {
  const draft = { ...draftFor('openai', STORE), model: ' gpt-4o ' }
  expect(providerChange(draft)).toEqual({
    kind: 'provider',
    name: 'openai',
    api_key: { secret: { name: 'OPENAI_API_KEY', value: 'not-sent-yet' } },
    models: [{ id: 'gpt-4o' }],
  })
  expect(providerChange(draft, 'sk-1').api_key).toEqual({ secret: { name: 'OPENAI_API_KEY', value: 'sk-1' } })
})

test('the usual address is left out, another one is not', () => {
  const draft = { ...draftFor('ollama', STORE), model: 'llama3.2:3b', title: 'Llama' }
  expect(providerChange(draft)).toEqual({
    kind: 'provider',
    name: 'ollama',
    models: [{ id: 'llama3.2:3b', name: 'Llama' }],
  })
  expect(providerChange({ ...draft, baseUrl: 'http://gpu.test' })).toMatchObject({ base_url: 'http://gpu.test' })
})

test('the key of a compatible server is called like the server, unless the user has named it', () => {
  const draft = draftFor('compatible', STORE)
  expect(draft.key.secret).toBe('MODELS_API_KEY')
  const named = renamed(renamed(draft, 'o', STORE), 'my-office.1', STORE)
  expect(named).toMatchObject({ name: 'my-office.1', key: { secret: 'MY_OFFICE_1_API_KEY' } })
  const own = { ...draft, key: { ...draft.key, secret: 'MINE' } }
  expect(renamed(own, 'office', STORE).key).toMatchObject({ secret: 'MINE', variable: 'OFFICE_API_KEY' })
})

test('a compatible server has a name, a type and an address', () => {
  const draft = { ...draftFor('compatible', STORE), model: 'm' }
  expect([...providerProblems(draft).keys()]).toEqual(['name', 'baseUrl'])
  const named = { ...draft, name: 'office', baseUrl: 'https://models.test/v1' }
  expect(providerProblems(named).size).toBe(0)
  expect(providerChange(named)).toMatchObject({ name: 'office', type: 'openai', base_url: 'https://models.test/v1' })
})

test('says what is missing, by field', () => {
  const draft = { ...draftFor('openai', STORE), baseUrl: 'x' }
  expect([...providerProblems(draft).keys()]).toEqual(['baseUrl', 'model'])
})

test('a test has the key and no display name', () => {
  const draft = { ...draftFor('openai', STORE), model: ' gpt-4o ', title: 'Mine' }
  expect(testedDraft(draft, 'sk-1')).toEqual({
    name: 'openai',
    api_key: { secret: { name: 'OPENAI_API_KEY', value: 'sk-1' } },
    models: [{ id: 'gpt-4o' }],
  })
  expect(testedDraft({ ...draft, title: 'Yours' }, 'sk-1')).toEqual(testedDraft(draft, 'sk-1'))
})
