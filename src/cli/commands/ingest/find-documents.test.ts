import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findDocuments } from './find-documents.ts'

/** A folder with these files, removed when the test is over; gives how to find documents in it. */
async function folderWith(...names: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-find-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const name of names) {
    await mkdir(join(folder, dirname(name)), { recursive: true })
    await writeFile(join(folder, name), name)
  }
  const find = async (...words: string[]) => {
    const { files, missing } = await findDocuments(words.map((word) => join(folder, word)))
    const short = ({ path }: { path: string }) => path.slice(folder.length + 1)
    return { files: files.map(short), missing: missing.map((one) => ({ ...one, path: short(one) })), all: files }
  }
  return { folder, find }
}

describe('files and folders', () => {
  test('of a folder are all files below it, in the order of names', async () => {
    const { find } = await folderWith('docs/b.md', 'docs/a.md', 'docs/deep/er/c.txt', 'other.md')
    expect((await find('docs')).files).toEqual(['docs/a.md', 'docs/b.md', 'docs/deep/er/c.txt'])
  })

  test('hidden ones and node_modules are left out, unless they are named', async () => {
    const { find } = await folderWith(
      '.env',
      'a.md',
      '.git/config',
      'node_modules/x/readme.md',
      'sub/node_modules/y.md',
    )
    expect((await find('.')).files).toEqual(['a.md'])
    expect((await find('.env', 'node_modules/x')).files).toEqual(['.env', 'node_modules/x/readme.md'])
  })

  test('each is found once, however often it is named', async () => {
    const { find } = await folderWith('docs/a.md', 'docs/b.md')
    const { files, all } = await find('docs', 'docs/', './docs/a.md', 'docs/*.md')
    expect(files).toEqual(['docs/a.md', 'docs/b.md'])
    expect(all.map(({ named }) => named)).toEqual([true, false])
  })

  test('know their size', async () => {
    const { find } = await folderWith('abc.md')
    expect((await find('.')).all).toMatchObject([{ bytes: 'abc.md'.length, named: false }])
  })
})

describe('links', () => {
  test('in a folder are not followed, so that it leads neither in a circle nor out of itself', async () => {
    const { folder, find } = await folderWith('docs/a.md', 'secret/key.txt')
    await symlink(folder, join(folder, 'docs/circle'))
    await symlink(join(folder, 'secret/key.txt'), join(folder, 'docs/key.txt'))
    await symlink(join(folder, 'nowhere'), join(folder, 'docs/broken'))
    expect(await find('docs')).toMatchObject({ files: ['docs/a.md'], missing: [] })
    expect((await find('docs/*')).files).toEqual(['docs/a.md'])
  })

  test('are followed if they are named', async () => {
    const { folder, find } = await folderWith('real/a.md')
    await symlink(join(folder, 'real'), join(folder, 'link'))
    expect((await find('link')).files).toEqual(['link/a.md'])
  })
})

describe('patterns', () => {
  test('are expanded if no file has that name', async () => {
    const { find } = await folderWith('docs/a.md', 'docs/b.txt', 'docs/deep/c.md', 'docs/[x].md')
    expect((await find('docs/**/*.md')).files.sort()).toEqual(['docs/[x].md', 'docs/a.md', 'docs/deep/c.md'])
    expect((await find('docs/[x].md')).files).toEqual(['docs/[x].md'])
  })

  test('take folders with all that is below them, as a shell would', async () => {
    const { find } = await folderWith('docs/a.md', 'docs/deep/er/c.md')
    expect((await find('docs/*')).files.sort()).toEqual(['docs/a.md', 'docs/deep/er/c.md'])
  })

  test('skip hidden files and node_modules unless the pattern names them', async () => {
    const { find } = await folderWith('a.md', '.b.md', '.github/c.md', 'node_modules/d.md')
    expect((await find('**/*.md')).files).toEqual(['a.md'])
    expect((await find('.github/*.md')).files).toEqual(['.github/c.md'])
    expect((await find('node_modules/*.md')).files).toEqual(['node_modules/d.md'])
  })
})

describe('missing files', () => {
  test('are reported by name, and the rest is found', async () => {
    const { find } = await folderWith('a.md')
    expect(await find('nope.md', 'a.md', '*.pdf', 'a.md/b')).toMatchObject({
      files: ['a.md'],
      missing: [
        { path: 'nope.md', problem: 'there is no such file or folder' },
        { path: '*.pdf', problem: 'no file matches' },
        { path: 'a.md/b', problem: 'there is no such file or folder' },
      ],
    })
  })

  test('finds nothing in an empty folder', async () => {
    const { folder, find } = await folderWith('a.md')
    await mkdir(join(folder, 'empty'))
    expect(await find('empty')).toMatchObject({ files: [], missing: [] })
  })
})

test('stops when the signal aborts', async () => {
  await expect(findDocuments(['.'], AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})
