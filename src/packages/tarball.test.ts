import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { packageFiles, temporaryFolder } from './fixtures/package-files.ts'
import { readTarball, writeTarball } from './tarball.ts'

interface Entry {
  readonly name: string
  readonly type?: string
  readonly link?: string
  readonly prefix?: string
  readonly size?: number
  readonly magic?: string
  readonly content?: string
}

/** A tar entry with a right checksum, whatever it says. */
function entry({ name, type = '0', link = '', prefix = '', content = '', magic = 'ustar\x0000', size }: Entry): Buffer {
  const header = Buffer.alloc(512)
  const stated = size ?? content.length
  header.write(name, 0)
  header.write('0000644\x000000000\x000000000\0', 100)
  header.write(`${stated.toString(8).padStart(11, '0')}\x0000000000000\0`, 124)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157)
  header.write(magic, 257)
  header.write(prefix, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512)
  return Buffer.concat([header, Buffer.from(content), padding])
}

const END = Buffer.alloc(1024)
const tarball = (...parts: readonly (Entry | Buffer)[]) =>
  gzipSync(Buffer.concat([...parts.map((part) => (Buffer.isBuffer(part) ? part : entry(part))), END]))
const manifest = { name: 'package/package.json', content: '{}' }

describe('tarball', () => {
  test('reads what it has written, in one order', async () => {
    const files = packageFiles({ files: { 'handlers/a.mjs': 'x'.repeat(2_000), 'README.md': '' } })
    const read = await readTarball(writeTarball(files))
    expect(Object.fromEntries(read)).toEqual(Object.fromEntries(files))
    expect([...read.keys()]).toEqual([...files.keys()].sort())
  })

  test('tar and npm read it', async () => {
    const folder = await temporaryFolder()
    writeFileSync(join(folder, 'a.tgz'), writeTarball(packageFiles()))
    execFileSync('tar', ['xzf', 'a.tgz'], { cwd: folder })
    expect(JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8')).name).toBe('@acme/tools')
  })

  test.each<[string, Entry, string]>([
    ['a path out of the package', { name: 'package/../../evil.js' }, 'It has the file'],
    ['a path out of a folder', { name: 'package/handlers/../../evil.js' }, 'It has the file'],
    ['an absolute path', { name: '/etc/passwd' }, 'It has the entry'],
    ['a path with a backslash', { name: 'package/handlers\\..\\evil.js' }, 'It has the file'],
    ['a path beside the package', { name: 'other/package.json' }, 'It has the entry'],
    ['a hidden file', { name: 'package/.env' }, 'It has the file'],
    ['a file in a folder of its own', { name: 'package/src/a.js' }, 'It has the file'],
    ['a subfolder', { name: 'package/handlers/node_modules/a.js' }, 'It has the file'],
    ['a long name', { name: `package/handlers/${'a'.repeat(80)}.js` }, 'It has the file'],
    ['a name in two parts', { name: 'handlers/a.js', prefix: 'package' }, 'has a long name or a link'],
    [
      'a symbolic link',
      { name: 'package/README.md', type: '2', link: '/etc/passwd' },
      'is a symbolic link, not a file',
    ],
    ['a hard link', { name: 'package/README.md', type: '1', link: 'package/LICENSE' }, 'is a hard link, not a file'],
    ['a file with a link target', { name: 'package/README.md', link: '/etc/passwd' }, 'has a long name or a link'],
    ['a character device', { name: 'package/README.md', type: '3' }, 'is a device, not a file'],
    ['a block device', { name: 'package/README.md', type: '4' }, 'is a device, not a file'],
    ['a pipe', { name: 'package/README.md', type: '6' }, 'is a pipe, not a file'],
    ['a folder', { name: 'package/tools', type: '5' }, 'is a folder, not a file'],
    [
      'a pax header',
      { name: 'package/PaxHeader', type: 'x', content: '20 path=../../evil\n' },
      'is an extended header',
    ],
    ['a global pax header', { name: 'pax_global_header', type: 'g' }, 'is an extended header'],
    ['a long name of GNU tar', { name: '././@LongLink', type: 'L', content: '../../evil' }, 'is an extended header'],
    ['a sparse file', { name: 'package/README.md', type: 'S' }, 'is an extended header'],
    ['another format', { name: 'package/README.md', magic: 'ustar  \0' }, 'It is not a gzipped tar archive'],
    ['a size beyond the archive', { name: 'package/README.md', size: 100_000 }, 'It ends in the middle of a file'],
    ['a size of 8 GB', { name: 'package/README.md', size: 0o77777777777 }, 'It ends in the middle of a file'],
    ['a file twice', manifest, 'It has the file "package.json" twice'],
  ])('refuses %s', async (_what, bad, message) => {
    await expect(readTarball(tarball(manifest, bad))).rejects.toThrow(message)
  })

  test('refuses two names that differ in case only', async () => {
    const twins = [{ name: 'package/tools/a.json' }, { name: 'package/tools/A.json' }]
    await expect(readTarball(tarball(...twins))).rejects.toThrow('It has the file "tools/A.json" twice')
  })

  test('refuses a wrong checksum, data after the end, and an archive without an end', async () => {
    const damaged = entry(manifest)
    damaged[0] = 0x71
    await expect(readTarball(tarball(damaged))).rejects.toThrow('not a gzipped tar archive')
    await expect(readTarball(tarball(manifest, END, manifest))).rejects.toThrow('does not end like a tar archive')
    await expect(readTarball(gzipSync(entry(manifest)))).rejects.toThrow('does not end like a tar archive')
    await expect(readTarball(tarball(manifest, Buffer.alloc(100_000)))).rejects.toThrow('does not end')
  })

  test('refuses what is not gzipped, or cut', async () => {
    const packed = writeTarball(packageFiles())
    await expect(readTarball(gunzipSync(packed))).rejects.toThrow('not a gzipped tar archive')
    await expect(readTarball(packed.subarray(0, packed.length - 20))).rejects.toThrow('not a gzipped tar archive')
  })

  test('stops unpacking 1 GB at the limit', async () => {
    const part = gzipSync(Buffer.alloc(16 * 1024 * 1024))
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => part))
    await expect(readTarball(bomb)).rejects.toThrow('It unpacks to more than 64 MB')
  })

  test('refuses a large file before it unpacks it', async () => {
    await expect(readTarball(Buffer.alloc(21 * 1024 * 1024))).rejects.toThrow('It is larger than 20 MB')
  })

  test('refuses too many files', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => ({ name: `package/mocks/m${index}.json` }))
    await expect(readTarball(tarball(...many))).rejects.toThrow('It has more than 1000 files')
  })
})
