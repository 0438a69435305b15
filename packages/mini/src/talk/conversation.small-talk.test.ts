import { describe, expect, test } from 'vitest'
import type { OfferedTool } from '../base/port.ts'
import { about, beginsRequest, forbids, noTool, readWanted, smallTalk } from './conversation.ts'

describe('what wants nothing done', () => {
  test.each([
    ['hello', /^Hello/],
    ['Good morning!', /^Hello/],
    ['thanks a lot 🙏', /welcome/],
    ['ok, thank you', /welcome/],
    ['bye', /^Goodbye/],
    ['lol', /^All right/],
    ['👍', /^All right/],
  ])('%s is answered', (said, answer) => {
    expect(smallTalk(said)).toMatch(answer)
  })

  test.each(['hello, turn on the lamp', 'thank Anna for me', 'no, in Berlin', 'good restaurants', 'help'])(
    '%s is more than that',
    (said) => {
      expect(smallTalk(said)).toBeUndefined()
    },
  )

  test('what shall not be done is told from what shall', () => {
    for (const said of ["don't turn on the light", 'Please do not switch it off', 'never open the door'])
      expect(forbids(said)).toBe(true)
    for (const said of ["don't forget to lock the door", "don't you think it is cold?", 'turn it off', 'I do not know'])
      expect(forbids(said)).toBe(false)
  })

  test('a request after "and" is one of its own', () => {
    expect(beginsRequest('turn on the kitchen light')).toBe(true)
    expect(beginsRequest('in Rome?')).toBe(false)
    expect(beginsRequest('what about Rome')).toBe(false)
  })

  test('a question that names its choices is recognised', () => {
    const messages = [
      { role: 'user' as const, content: 'turn on the light' },
      { role: 'assistant' as const, content: 'Which light? Hall or kitchen.' },
      { role: 'user' as const, content: 'hall' },
    ]
    expect(readWanted(messages, 2)).toEqual({
      request: 'turn on the light',
      answers: [{ asked: 'light', answer: 'hall' }],
    })
  })

  test('it says what the tools are for, and what those do that do several things', () => {
    const operation = { type: 'string', enum: ['up', 'down'], description: 'up: higher. down: lower.' }
    const tools: OfferedTool[] = [
      {
        name: 'move_lift',
        description: 'Move the lift. It is slow.',
        parameters: { type: 'object', properties: { operation }, required: ['operation'] },
      },
    ]
    expect(about(tools, 'mini:v1')).toContain('- move lift: Move the lift (up, down)')
    expect(noTool(tools, 'mini:v1')).toMatch(/^I couldn't match that to a tool\. Try: /)
    expect(noTool([], 'mini:v1')).toContain('No tools are offered')
  })

  test('U13 cuts no word of a long description in the middle', () => {
    const description = `Find at most 2.5 kilometres away ${'something wonderful '.repeat(9)}and more.`
    const line = about([{ name: 'find', description, parameters: { type: 'object' } }], 'mini:v1').split('\n')[2]
    expect(line).toMatch(
      /^- find: Find at most 2\.5 kilometres away (?:something wonderful )*(?:something|something wonderful)…$/,
    )
    expect(line?.length).toBeLessThan(120)
  })
})
