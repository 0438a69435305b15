import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The last commit with version 0 of the model, which read one pair of texts per parameter and option. */
const COMMIT = 'b1c0b2be851efdaab1cb920cfb230486104527cf'
const PARTS = ['src', 'mini', 'bench', 'package.json']
const ROOT = join(import.meta.dirname, '..', '..')
/** Inside `bench`, so that its imports find the packages of the bench and of Toolyard. */
const FOLDER = join(ROOT, 'bench', '.former-mini')

/** Puts version 0 into a folder while it is used. Gives undefined if the history has no such commit, as in a shallow clone. */
export async function withFormerMini<Result>(use: (folder: string) => Promise<Result>): Promise<Result | undefined> {
  const run = promisify(execFile)
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER)
  try {
    const archive = join(FOLDER, 'archive.tar')
    const there = await run('git', ['archive', '-o', archive, COMMIT, ...PARTS], { cwd: ROOT }).then(
      () => true,
      () => false,
    )
    if (!there) return undefined
    await run('tar', ['-x', '-f', archive, '-C', FOLDER])
    return await use(FOLDER)
  } finally {
    await rm(FOLDER, { recursive: true, force: true })
  }
}
