import type { FastifyInstance } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import { packageOf } from '../../core/execution/tool-view.ts'
import type { CatalogueEntry } from '../../packages/sources.ts'
import { list, object, route, TEXT } from '../http/route.ts'
import type { PackagesView } from '../http/views.ts'

const ENTRY = { name: TEXT, version: TEXT, source: TEXT }
const CATALOGUE_TTL_MS = 60_000
const CATALOGUE_TIMEOUT_MS = 10_000

const VIEW = object(
  {
    packages: list({
      ...ENTRY,
      fingerprint: { type: 'string', description: 'The key that signed it.' },
      granted: { type: 'array', items: TEXT, description: 'Variables that it may read.' },
      tools: { type: 'array', items: TEXT, description: 'The tools that are loaded.' },
      problem: { type: 'string', description: 'Why it is not loaded; absent if it is.' },
    }),
    catalogue: list({ ...ENTRY, description: TEXT }, 'The packages in packages.catalogue.'),
    problem: { type: 'string', description: 'Why the list is not complete; absent if it is.' },
  },
  'The packages',
)

/** Packages of tools, to read. They are added and removed on the command line. */
export function packageRoutes(app: FastifyInstance): void {
  const { installation } = app
  const catalogue = rememberedCatalogue(installation)
  app.get(
    '/api/packages',
    route('installation', 'tools', 'Lists the added packages of tools, and the catalogue', { response: { 200: VIEW } }),
    async (): Promise<PackagesView> => {
      const problems: string[] = []
      const unless = async <T>(work: () => Promise<readonly T[]>): Promise<readonly T[]> => {
        try {
          return await work()
        } catch (error) {
          problems.push((error as Error).message)
          return []
        }
      }
      const packages = await unless(() => addedPackages(installation))
      const listed = await unless(catalogue)
      return { packages, catalogue: listed, ...(problems.length > 0 && { problem: problems.join('. ') }) }
    },
  )
}

async function addedPackages({ lockFile, manager }: Installation): Promise<PackagesView['packages']> {
  if (lockFile === undefined) return []
  const { readLock } = await import('../../packages/load-packages.ts')
  const { fingerprintOf } = await import('../../packages/signing.ts')
  const { skipped } = await manager.loadTools()
  const tools = manager.getRegistry().definitions()
  return [...(await readLock(lockFile))].map(([name, { version, source, key, granted }]) => ({
    ...{ name, version, source, granted, fingerprint: fingerprintOf(key) },
    tools: tools.filter((tool) => packageOf(tool) === name).map((tool) => tool.name),
    problem: skipped.find((one) => one.name === `package ${name}`)?.problem,
  }))
}

/** Reads the catalogue at most once a minute: it may be elsewhere. */
function rememberedCatalogue(installation: Installation): () => Promise<readonly CatalogueEntry[]> {
  let readMs = Number.NEGATIVE_INFINITY
  let last: Promise<readonly CatalogueEntry[]> = Promise.resolve([])
  installation.onReload(() => {
    readMs = Number.NEGATIVE_INFINITY
  })
  const read = async () => {
    const { readCatalogue } = await import('../../packages/sources.ts')
    const { config, lockFile = '' } = installation
    return readCatalogue(config, lockFile, AbortSignal.timeout(CATALOGUE_TIMEOUT_MS))
  }
  return () => {
    const now = installation.clock.now()
    if (now - readMs >= CATALOGUE_TTL_MS) {
      readMs = now
      last = read()
    }
    return last
  }
}
