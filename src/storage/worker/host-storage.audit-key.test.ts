import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Setting, SettingStore } from '../../core/storage/setting-store.ts'
import { auditKey } from './host-storage.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-key-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

/** Settings that hold at most one. */
function settingsWith(kept?: unknown): SettingStore & { readonly put: SettingStore['put']; asked: Setting[] } {
  const asked: Setting[] = []
  return {
    asked,
    list: async () => [],
    put: async () => {},
    remove: async () => false,
    replace: async () => false,
    async putFirst(setting) {
      asked.push(setting)
      return kept ?? setting.value
    },
  }
}

const options = () => ({ folder, instance: 'one', keepDays: 7 })
const KEY = 'ab'.repeat(32)

describe('the key of an installation with a data folder', () => {
  it('is created once, readable by the owner only', async () => {
    const key = await auditKey(options(), settingsWith())
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(await auditKey(options(), settingsWith())).toBe(key)
    expect(readdirSync(folder)).toEqual(['audit.key'])
    expect(statSync(join(folder, 'audit.key')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(folder, 'audit.key'), 'utf8').trim()).toBe(key)
  })

  it('is the same for all that start at once', async () => {
    const keys = await Promise.all(Array.from({ length: 10 }, () => auditKey(options(), settingsWith())))
    expect(new Set(keys).size).toBe(1)
    expect(readdirSync(folder)).toEqual(['audit.key'])
  })

  it('is not replaced if it cannot be read', async () => {
    for (const text of ['', 'short', `${KEY}00`, 'x'.repeat(64)]) {
      writeFileSync(join(folder, 'audit.key'), text)
      await expect(auditKey(options(), settingsWith())).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: 'audit.key in the data folder is damaged: restore it from a backup, or set TOOLYARD_AUDIT_KEY',
      })
      expect(readFileSync(join(folder, 'audit.key'), 'utf8')).toBe(text)
    }
  })

  it.skipIf(process.getuid?.() === 0)('reports that it cannot be created', async () => {
    chmodSync(folder, 0o500)
    await expect(auditKey(options(), settingsWith())).rejects.toMatchObject({ message: /cannot be created \(EACCES\)/ })
    chmodSync(folder, 0o700)
  })

  it('is the configured one if there is one', async () => {
    expect(await auditKey({ ...options(), auditKey: 'given' }, settingsWith())).toBe('given')
    expect(await auditKey({ ...options(), auditKey: 'given', url: 'postgres://x' }, settingsWith())).toBe('given')
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('the key of an installation with a database', () => {
  const shared = () => ({ ...options(), url: 'postgres://x' })

  it('is stored there, and not in the folder', async () => {
    const settings = settingsWith()
    const key = await auditKey(shared(), settings)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(settings.asked).toEqual([{ kind: 'secret', name: 'audit_key', value: key }])
    expect(readdirSync(folder)).toEqual([])
  })

  it('is that of the first server', async () => {
    expect(await auditKey(shared(), settingsWith(KEY))).toBe(KEY)
  })

  it('is rejected if it is damaged', async () => {
    for (const kept of ['short', 1, null]) {
      await expect(auditKey(shared(), settingsWith(kept ?? {}))).rejects.toMatchObject({ message: /is damaged/ })
    }
  })
})
