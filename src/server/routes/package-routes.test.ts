import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { addPackages, mockTool, newSigner, packageFiles } from '../../packages/fixtures/package-files.ts'
import { packageFolder } from '../../packages/load-packages.ts'
import { signPackage } from '../../packages/package.ts'
import { fingerprintOf } from '../../packages/signing.ts'
import { openTestServer } from '../fixtures/open-server.ts'

test('lists packages with their tools and problems, and the catalogue', async () => {
  const signer = newSigner()
  const good = signPackage(packageFiles(), signer)
  const bad = signPackage(packageFiles({ more: { name: 'bad' }, tools: [mockTool('bad')] }), signer)
  const lockFile = await addPackages(good, bad)
  await writeFile(join(packageFolder(lockFile, 'bad'), 'README.md'), 'changed')
  const file = join(dirname(lockFile), 'toolyard.config.json')
  await writeFile(file, JSON.stringify({ tools: { enabled: true }, packages: { catalogue: 'catalogue.json' } }))
  const server = await openTestServer({}, { file })
  onTestFinished(() => server.close())
  const key = await server.key('acme', 'admin', ['read', 'observe', 'installation'])
  const get = async (path: string) => {
    const response = await fetch(server.url + path, { headers: { 'x-api-key': key } })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const first = await get('/api/packages')
  expect(first.body.problem).toContain('catalogue.json cannot be read (ENOENT)')
  const entry = { version: '1.0.0', source: 'test.tgz', granted: [], fingerprint: fingerprintOf(signer.key) }
  expect(first.body.packages).toEqual([
    { name: '@acme/tools', ...entry, tools: ['hello'] },
    { name: 'bad', ...entry, tools: [], problem: expect.stringContaining('"README.md" is not in the signed manifest') },
  ])
  const listed = { name: 'fine', version: '2.0.0', source: 'npm:fine', description: 'Fine.' }
  await writeFile(join(dirname(lockFile), 'catalogue.json'), JSON.stringify({ packages: [listed] }))
  await server.installation.reload()
  const second = await get('/api/packages')
  expect(second.body).toMatchObject({ catalogue: [listed] })
  expect(second.body.problem).toBeUndefined()
  const { rows } = (await get('/audit?type=event&limit=1000&tenant=*')).body
  const details = rows.flatMap((row: { event: string; detail: string }) =>
    row.event === 'config.loaded' ? row.detail : [],
  )
  expect(details).toEqual(['{"tools":1,"packages":["@acme/tools"]}'])
  expect((await get('/api/page/tools/hello')).body.origin).toBe('@acme/tools')
})
