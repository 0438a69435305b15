import { expect, test } from 'vitest'
import { type AskedQuestion, answerSchema, firstAnswer, questionText, samplingMessages } from './question.ts'

const asked = (kind: 'elicitation' | 'sampling', params: object) =>
  ({ question: { kind, server: 'files' }, params }) as unknown as AskedQuestion

test('reads the messages of a sampling request, with the system prompt first', () => {
  const messages = [
    { role: 'user', content: { type: 'text', text: 'Hello' } },
    {
      role: 'user',
      content: [
        { type: 'image', data: 'AAAA' },
        { type: 'text', text: 'What is it?' },
      ],
    },
  ]
  expect(samplingMessages({ systemPrompt: 'Be short', messages })).toEqual([
    { role: 'system', text: 'Be short' },
    { role: 'user', text: 'Hello' },
    { role: 'user', text: '[image]\nWhat is it?' },
  ])
  expect(questionText(asked('sampling', { messages }))).toBe('[image]\nWhat is it?')
})

test('survives questions that are not valid', () => {
  expect(samplingMessages({ messages: [null, 7, { content: null }] }).map(({ text }) => text)).toEqual([
    '[unknown]',
    '[unknown]',
    '[unknown]',
  ])
  expect(questionText(asked('elicitation', {}))).toBe('')
  expect(firstAnswer(asked('elicitation', { requestedSchema: { properties: { a: null } } }))).toEqual({})
})

test('an answer begins with the defaults of the schema', () => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string', default: 'Ada' }, age: {} } }
  expect(firstAnswer(asked('elicitation', { requestedSchema }))).toEqual({ name: 'Ada' })
  expect(firstAnswer(asked('sampling', {}))).toEqual({ text: '' })
})

test('choices of an answer have titles, and several of them are unique', () => {
  const choices = [
    { const: 'a', title: 'Ada' },
    { const: 'b', title: 'Bob' },
  ]
  const properties = {
    one: { type: 'string', enum: ['a', 'b'], enumNames: ['Ada', 'Bob'] },
    several: { type: 'array', items: { anyOf: choices }, default: ['a'] },
    plain: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    text: { type: 'string' },
  }
  expect(answerSchema({ type: 'object', properties, required: ['one'] })).toEqual({
    type: 'object',
    properties: {
      one: { type: 'string', oneOf: choices },
      several: { type: 'array', items: { type: 'string', oneOf: choices }, default: ['a'], uniqueItems: true },
      plain: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, uniqueItems: true },
      text: { type: 'string' },
    },
    required: ['one'],
  })
  expect(answerSchema(null)).toEqual({ properties: {} })
  expect(answerSchema({ properties: { odd: null } })).toEqual({ properties: { odd: null } })
})
