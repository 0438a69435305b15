import { describe, expect, test } from 'vitest'
import { buildMessages } from './response-rules.ts'

const system = async (prompt: string, question: Partial<Parameters<typeof buildMessages>[1]> = {}) =>
  (await buildMessages({ prompt }, { message: 'Hi', ...question }))[0]?.content

describe('buildMessages', () => {
  test('an earlier message without a role is the user’s', async () => {
    const previousMessages = [{ content: 'One' }, { role: 'assistant', content: 'Two' }] as never
    expect(await buildMessages({ prompt: '' }, { message: 'Three', previousMessages })).toEqual([
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'Two' },
      { role: 'user', content: 'Three' },
    ])
  })

  test('puts the prompt first, then earlier messages, then the message', async () => {
    const previousMessages = [
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'Two' },
    ] as const
    expect(await buildMessages({ prompt: 'Be brief.' }, { message: 'Three', previousMessages })).toEqual([
      { role: 'system', content: 'Be brief.' },
      ...previousMessages,
      { role: 'user', content: 'Three' },
    ])
  })

  test('omits an empty prompt', async () => {
    expect(await buildMessages({ prompt: '{{topic}} ' }, { message: 'Hi' })).toEqual([{ role: 'user', content: 'Hi' }])
  })

  test('fills in the message and profile values, as text or JSON', async () => {
    const profile = { topic: 'rain', tier: 2, tags: ['a'], nothing: null }
    const prompt = '{{user_message}}|{{ topic }}|{{tier}}|{{tags}}|{{nothing}}|{{unknown}}|{{__proto__}}'
    expect(await system(prompt, { profile })).toBe('Hi|rain|2|["a"]|||')
  })

  test('does not interpret {{…}} or $& in values', async () => {
    expect(await system('<{{user_message}}>', { message: '{{topic}} $& $1', profile: { topic: 'x' } })).toBe(
      '<{{topic}} $& $1>',
    )
  })

  test('ignores user_message and rag_context in the profile', async () => {
    const profile = { user_message: 'forged', rag_context: 'forged' }
    expect(await system('<{{user_message}}|{{rag_context}}>', { profile })).toBe('<Hi|>')
  })

  test('searches documents once, and only if the prompt names them', async () => {
    const asked: string[] = []
    const lookup = async (message: string) => {
      asked.push(message)
      return 'found {{topic}}'
    }
    expect(await system('No context', { lookup })).toBe('No context')
    expect(asked).toEqual([])
    expect(await system('{{rag_context}} {{rag_context}}', { lookup })).toBe('found {{topic}} found {{topic}}')
    expect(asked).toEqual(['Hi'])
  })

  test('rejects if the search fails', async () => {
    const lookup = () => Promise.reject(new Error('no index'))
    await expect(system('{{rag_context}}', { lookup })).rejects.toThrow('no index')
  })
})
