import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OfferedTool } from '../../model.ts'
import { likelyTools, MOST_SCORED } from './tool-index.ts'
import { readWordVectors } from './word-vectors.ts'

const tool = (name: string, description: string, parameters: object = {}): OfferedTool => ({
  name,
  description,
  parameters: { type: 'object', properties: parameters },
})

const wanted = [
  tool('get_forecast', 'Tells the temperature and the chance of rain', { place: { type: 'string' } }),
  tool('purchase_item', 'Orders a product in the shop'),
  tool('find_film', 'Looks up a film by its title'),
  tool('book_table', 'Reserves seats in a restaurant', { guests: { type: 'integer', description: 'How many diners' } }),
]
/** Each about something else, so that none is nearer to all questions than the rest. */
const others = 'invoice database calendar password spreadsheet certificate molecule genome triangle matrix planet tax'
  .split(' ')
  .flatMap((thing) =>
    ['create', 'archive', 'compare'].map((verb) => tool(`${verb}_${thing}`, `To ${verb} a ${thing}.`)),
  )
const tools = [...others, ...wanted]
const names = async (said: string, vectors?: Parameters<typeof likelyTools>[2]): Promise<string[]> =>
  (await likelyTools([...tools], said, vectors)).map(({ name }) => name)
const noVectors = async (): Promise<undefined> => undefined

describe('the tools that are looked at closely', () => {
  test('a short list is taken whole', async () => {
    const few = tools.slice(0, MOST_SCORED)
    expect(await likelyTools(few, 'anything')).toBe(few)
  })

  test.each([
    ['find me the film Alien', 'find_film'],
    ['compare the genomes', 'compare_genome'],
    ['a table for eight diners', 'book_table'],
  ])('%j finds %s by a word of it', async (said, name) => {
    expect((await names(said, noVectors))[0]).toBe(name)
    expect(await names(said)).toContain(name)
  })

  test.each([
    ['will it be wet or warm outside?', 'get_forecast'],
    ['buy a lamp', 'purchase_item'],
    ['which movie has dinosaurs', 'find_film'],
  ])('%j finds %s without a word of it', async (said, name) => {
    expect(await names(said, noVectors)).not.toContain(name)
    expect((await names(said)).slice(0, 5)).toContain(name)
  })

  test('no more than are looked at, each once', async () => {
    const found = await names('compare the movie title with the film in the database, then archive the planet')
    expect(found).toHaveLength(MOST_SCORED)
    expect(new Set(found).size).toBe(MOST_SCORED)
  })

  test('what has no word in it finds nothing', async () => {
    expect(await names('??? 12')).toEqual([])
  })
})

describe('the files of what words mean', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mini-words-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const write = async (words: string, bytes: number[]): Promise<void> => {
    await writeFile(join(folder, 'words.txt'), words)
    await writeFile(join(folder, 'words.int8.bin'), Int8Array.from(bytes))
  }

  test('are read, and words with an ending are known by their beginning', async () => {
    await write('lamp\nwarm\n', [3, 4, -1, 0])
    const vectors = await readWordVectors(folder)
    const sum = (words: string[]) => [...(vectors?.sum(new Map(words.map((word) => [word, 1]))) ?? [])]
    expect(sum(['lamps'])).toEqual([expect.closeTo(0.6), expect.closeTo(0.8)])
    expect(sum(['warming'])).toEqual([-1, 0])
    expect(sum(['neither'])).toEqual([0, 0])
  })

  test.each([
    ['missing', undefined],
    ['cut off', [3, 4, -1]],
    ['empty', []],
  ])('that are %s are done without', async (_, bytes) => {
    if (bytes) await write('lamp\nwarm\n', bytes)
    expect(await readWordVectors(folder)).toBeUndefined()
    expect(await names('find me the film Alien', () => readWordVectors(folder))).toContain('find_film')
  })
})
