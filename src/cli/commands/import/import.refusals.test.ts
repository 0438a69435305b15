import { readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { OpenapiError } from '../../../openapi/documents.ts'
import { UsageError } from '../../common/terminal.ts'
import { importFolder, PETS } from '../../fixtures/import-folder.ts'
import { captureTerminal } from '../../fixtures/toolyard.ts'
import { importOpenapi } from './import.ts'

const silent = captureTerminal({ json: true }).terminal

describe('wrong usage exits with 2, a bad document with 1, and nothing is written', () => {
  const files = {
    'pets.json': PETS,
    'page.json': '<html>',
    'bad.yaml': 'a: [',
    'other.json': { hello: 1 },
    'nowhere.json': { ...PETS, servers: undefined },
    'tools/list.json': [{ name: 'a', implementation: { type: 'mock' } }],
    'tools/text.json': 'text',
    'tools/deep.json': Array.from({ length: 600 }).reduce<unknown>((inner) => [inner], []),
    'tools/others.json': [{ name: 'a', implementation: { type: 'http' } }],
  }

  test.each([
    ['gone.json', {}, UsageError, 'gone.json: there is no such file. Name a file or an http or https URL.'],
    ['', {}, UsageError, 'it is not a file.'],
    ['pets.json', { prefix: 'a b' }, UsageError, "--prefix takes up to 32 letters, digits, _ and -, not 'a b'."],
    ['pets.json', { baseUrl: 'ftp://x' }, UsageError, "--base-url takes an http or https URL, not 'ftp://x'."],
    [
      'pets.json',
      { include: ['pest'] },
      UsageError,
      "No operation has the tag, path or id 'pest': did you mean 'pets'",
    ],
    ['pets.json', { into: 'a.yaml' }, UsageError, "--into takes the name of a .json file, not 'a.yaml'."],
    ['pets.json', { into: '../a.json' }, UsageError, "--into '../a.json' is outside the folder of the configuration"],
    [
      'pets.json',
      { into: 'link/a.json' },
      UsageError,
      "--into 'link/a.json' is outside the folder of the configuration",
    ],
    ['pets.json', { into: 'toolyard.config.json' }, UsageError, '--into must not be the configuration itself'],
    ['pets.json', { into: 'tools/list.json' }, UsageError, 'tools/list.json has tools that were not imported (a)'],
    ['pets.json', { into: 'tools/text.json' }, UsageError, 'tools/text.json exists but has no tool definitions'],
    ['pets.json', { into: 'tools/deep.json' }, UsageError, 'tools/deep.json is nested deeper than 512 levels'],
    [
      'pets.json',
      { into: 'tools/others.json' },
      UsageError,
      'tools/others.json holds 1 other tool, none of which are in this import',
    ],
    ['pets.json', { config: 'gone.config.json' }, UsageError, 'gone.config.json: there is no such file.'],
    ['page.json', {}, OpenapiError, 'page.json is a page or XML, not an OpenAPI document in JSON or YAML.'],
    ['bad.yaml', {}, OpenapiError, 'bad.yaml is neither valid JSON nor YAML: '],
    ['other.json', {}, OpenapiError, 'The document is not an OpenAPI document'],
    ['http://127.0.0.1:9/openapi.json', {}, UsageError, "The host '127.0.0.1' was refused: it is a loopback address"],
    ['http://me:secret@pets.example/openapi.json', {}, UsageError, 'it contains a user name or a password'],
  ])('%j %j', async (source, options, error, problem) => {
    const { folder, has } = await importFolder(files)
    await symlink(dirname(folder), join(folder, 'link'))
    const config = join(folder, 'toolyard.config.json')
    await writeFile(config, '{}')
    const from = /^https?:/.test(source) ? source : join(folder, source)
    const work = importOpenapi(silent, from, { config, ...options }).catch((thrown: unknown) => thrown)
    expect(await work).toBeInstanceOf(error)
    await expect(work).resolves.toHaveProperty('message', expect.stringContaining(problem))
    expect(await readFile(config, 'utf8')).toBe('{}')
    expect(has('tools/pet-store.json')).toBe(false)
  })

  test('for a shell', async () => {
    const { json } = await importFolder(files)
    expect(await json('gone.json')).toEqual({
      code: 2,
      success: false,
      error: 'gone.json: there is no such file. Name a file or an http or https URL.',
    })
    expect(await json('other.json')).toMatchObject({ code: 1, success: false })
  })

  test('fails if no operation can be imported', async () => {
    const { run, json, has } = await importFolder(files)
    const { code, out, err } = await run('nowhere.json')
    expect(code).toBe(1)
    expect(out).toContain('Rejected: GET /pets: the document has no server: set the URL of the API with --base-url\n')
    expect(err).toContain('No operation can be imported: nothing was written.\n')
    expect(await json('nowhere.json')).toMatchObject({ code: 1, mapped: 0, written: false })
    expect(has('toolyard.config.json')).toBe(false)
  })
})
