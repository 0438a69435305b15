import { expect, test } from 'vitest'
import { scripted } from '../../testing/stand-ins.ts'
import { toolsOver } from './fixtures/call-tool.ts'

const text = 'The committee met on Monday and chose Oslo.'

async function summary(replies: readonly string[], params: object = { text }) {
  const model = scripted(...replies)
  const result = await toolsOver(model).call('summarize', { ...params })
  return { result, asked: model.requests.length, instructions: String(model.requests[0]?.messages[0]?.content) }
}

test('returns the summary with format and lengths', async () => {
  const { result } = await summary(['{"summary": " Oslo was chosen. "}'])
  expect(result).toEqual({
    summary: 'Oslo was chosen.',
    format: 'paragraph',
    metadata: { input_length: text.length, summary_length: 16 },
    method: 'model',
  })
})

test('asks for the format', async () => {
  expect((await summary(['x'])).instructions).toContain('one paragraph')
  const { result, instructions } = await summary(['{"summary": "- a\\n- b"}'], { text, format: 'bullet_points' })
  expect(result).toMatchObject({ summary: '- a\n- b', format: 'bullet_points' })
  expect(instructions).toContain('one line each')
})

test('joins a list of points', async () => {
  const reply = '{"summary": ["a", "- b"]}'
  expect((await summary([reply], { text, format: 'bullet_points' })).result).toMatchObject({ summary: '- a\n- b' })
  expect((await summary(['{"summary": ["A.", "B."]}'])).result).toMatchObject({ summary: 'A. B.' })
})

test.each([
  ['words', ['Oslo was chosen.'], 'Oslo was chosen.', 1],
  ['nothing', [''], '', 1],
  ['another form twice', ['{"a": 1}', '{"b": 2}'], '{"b": 2}', 2],
])('uses a reply of %s as the summary', async (_, replies, expected, questions) => {
  const { result, asked } = await summary(replies)
  expect(result).toMatchObject({ summary: expected, metadata: { summary_length: expected.length } })
  expect(asked).toBe(questions)
})

test('asks no model about a blank text', async () => {
  const { result, asked } = await summary([], { text: ' \n' })
  expect(result).toMatchObject({ summary: '', format: 'paragraph', metadata: { input_length: 2, summary_length: 0 } })
  expect(asked).toBe(0)
})

test.each([
  [{}, "missing 'text'"],
  [{ text: 5 }, 'text must be a string'],
  [{ text: 'x'.repeat(200_001) }, 'text must not be longer than 200000 characters'],
  [{ text, format: 'haiku' }, 'format must be one of: paragraph, bullet_points, not "haiku"'],
])('rejects parameters %#', async (params, problem) => {
  await expect(summary([], params)).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    message: `Invalid parameters: ${problem}`,
  })
})
