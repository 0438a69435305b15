import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { moduleFolder, OWN, readableFolders } from './launch.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'isolated-')))
afterAll(() => rmSync(root, { recursive: true }))

describe('readableFolders', () => {
  it('lists the folder, and node_modules and package.json in it and its parents', () => {
    const app = join(root, 'app')
    const own = join(app, 'node_modules/tools/dist')
    mkdirSync(own, { recursive: true })
    writeFileSync(join(app, 'package.json'), '{}')
    writeFileSync(join(app, '.env'), 'SECRET=1')
    const inside = readableFolders(own).filter((path) => path.startsWith(root))
    expect(inside).toEqual([own, join(app, 'node_modules'), join(app, 'package.json')])
  })

  it('leaves out .env files, the data folder and the .env file of the server', () => {
    const app = join(root, 'secretive')
    mkdirSync(join(app, 'data/store'), { recursive: true })
    for (const name of ['tools.js', '.env', '.env.local', 'data/readme.md']) writeFileSync(join(app, name), '')
    vi.stubEnv('TOOLYARD_DATA', join(app, 'data/store'))
    onTestFinished(() => void vi.unstubAllEnvs())
    const inside = readableFolders(app).filter((path) => path.startsWith(root))
    expect(inside).toEqual([join(app, 'data/readme.md'), join(app, 'tools.js')])
  })

  it('includes the target of a link', () => {
    mkdirSync(join(root, 'real'))
    symlinkSync(join(root, 'real'), join(root, 'link'))
    expect(readableFolders(join(root, 'link'))).toContain(join(root, 'real'))
  })

  it('includes the target of a linked node_modules and the packages beside it', () => {
    const shop = join(root, 'shop')
    for (const folder of ['app', 'store', 'lib/node_modules', 'lib/tools'])
      mkdirSync(join(shop, folder), { recursive: true })
    symlinkSync(join(shop, 'store'), join(shop, 'app/node_modules'))
    symlinkSync(join(shop, 'lib/tools'), join(shop, 'app/tools'))
    const readable = readableFolders(join(shop, 'app/tools'))
    expect(readable).toContain(join(shop, 'store'))
    expect(readable).toContain(join(shop, 'lib/node_modules'))
  })
})

describe('moduleFolder', () => {
  it('is one for all of our own modules', () => {
    expect(moduleFolder(import.meta.url)).toBe(OWN)
  })

  it('is the folder of any other module', () => {
    expect(moduleFolder(pathToFileURL(join(root, 'a b/x.js')).href)).toBe(join(root, 'a b'))
  })

  it.each(['data:text/javascript,1', 'node:fs', './x.js', 'file://host/x.js', ''])('is not for %j', (module) => {
    expect(moduleFolder(module)).toBeUndefined()
  })
})
