import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { deepText } from '../core/fixtures/foreign-json.ts'
import { readScores } from '../models/model-scores.ts'
import { loadBfcl } from './bfcl/load-bfcl.ts'
import { loadSuite } from './load-suite.ts'
import { readValidations } from './model-validation.ts'
import { readToolUses } from './tool-use/tool-use-file.ts'

const LEVELS = 'nested deeper than 512 levels'

/** By kind of file: how it is read, a text with `@` for the deep part, and what the reader says. */
const READERS: Readonly<Record<string, readonly [(file: string) => Promise<unknown>, string, string]>> = {
  suite: [(file) => loadSuite(file, { definitions: [], dataFolder: tmpdir() }), '{"cases":[@]}', LEVELS],
  'suite in lines': [(file) => loadSuite(file, { definitions: [], dataFolder: tmpdir() }), '{"id":"a"}\n@\n', 'JSON'],
  validations: [readValidations, '{"validations":[@]}', LEVELS],
  'tool uses': [readToolUses, '{"tool_uses":[@]}', LEVELS],
  scores: [async (file) => expect(await readScores(file)).toBeUndefined(), '{"models":@}', ''],
}

describe.each(Object.entries(READERS))('a file of %s', (_kind, [read, text, problem]) => {
  test.each([600, 2_000, 100_000])('with %d levels is refused with the reason', async (levels) => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-deep-file-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'file.json')
    await writeFile(file, text.replace('@', deepText(levels)))
    const said = await read(file).then(
      () => '',
      (error: Error) => error.message,
    )
    expect(said).toContain(problem)
    expect(said).not.toContain('call stack')
  })
})

test('a BFCL file with 100,000 levels is refused with the reason', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-deep-bfcl-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const line = `{"id":"a","question":${deepText(100_000)},"function":[]}`
  await mkdir(join(folder, 'bfcl'))
  await writeFile(join(folder, 'bfcl', 'BFCL_v4_irrelevance.json'), line)
  await expect(loadBfcl('irrelevance', folder)).rejects.toThrow(LEVELS)
})
