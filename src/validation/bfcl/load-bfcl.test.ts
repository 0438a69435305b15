import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadBfcl } from './load-bfcl.ts'

const parameters = {
  type: 'dict',
  properties: { id: { type: 'long' }, type: { type: 'String' }, data: { type: 'any' } },
  required: ['id'],
}
const question = {
  id: 'simple_java_0',
  question: [[{ role: 'user', content: 'Set 5.' }]],
  function: [{ name: 'Store.set', description: 'Sets.', parameters }],
}

describe('a category of BFCL', () => {
  let folder = ''
  const put = async (questions: string, answers: string) => {
    await writeFile(join(folder, 'bfcl', 'BFCL_v4_simple_java.json'), questions)
    await writeFile(join(folder, 'bfcl', 'possible_answer', 'BFCL_v4_simple_java.json'), answers)
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolyard-bfcl-'))
    await mkdir(join(folder, 'bfcl', 'possible_answer'), { recursive: true })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('has tools with JSON Schema, under names that providers accept', async () => {
    await put(JSON.stringify(question), '{"id": "simple_java_0", "ground_truth": [{"Store.set": {"id": [5]}}]}')
    const { cases } = await loadBfcl('simple_java', folder)
    expect(cases[0]?.tools).toEqual([
      {
        name: 'Store_set',
        description: 'Sets. The function is written in Java 8.',
        parameters: {
          type: 'object',
          properties: { id: { type: ['integer', 'string'] }, type: { type: 'string' }, data: {} },
          required: ['id'],
        },
        implementation: { type: 'mock', mock_response: { ok: true } },
      },
    ])
    expect(cases[0]).toMatchObject({ about: ['Store_set'], max_iterations: 1, turns: question.question })
  })

  test.each([
    [
      'is not JSON',
      'simple',
      '{}',
      /BFCL_v4_simple_java\.json:1: the line isn't a JSON object: download the file again/,
    ],
    ['has no functions', '{"id": "a"}', '', /:1: the line has no functions/],
    ['has no answer', JSON.stringify(question), '', /:1: the answers to "simple_java_0" don't match/],
    [
      'has an answer that calls another function',
      JSON.stringify(question),
      '{"id": "simple_java_0", "ground_truth": [{"Store.get": {"id": [5]}}]}',
      /don't match: download questions and answers of the same version/,
    ],
  ])('rejects a file that %s, with its place', async (_what, questions, answers, message) => {
    await put(questions, answers)
    await expect(loadBfcl('simple_java', folder)).rejects.toThrow(message)
  })

  test('tells where to get a missing file', async () => {
    await expect(loadBfcl('multiple', folder)).rejects.toThrow(/can't be read \(ENOENT\): .*ShishirPatil\/gorilla/)
  })

  test('suggests categories for an unknown one', async () => {
    await expect(loadBfcl('simple_pyton', folder)).rejects.toThrow("did you mean 'bfcl:simple_python'?")
    await expect(loadBfcl('web', folder)).rejects.toThrow(/use one of simple_python, simple_java/)
  })
})
