import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { download } from '../kinds/http/exchange/download.ts'
import {
  checked,
  NAME,
  openPackage,
  type Package,
  parsedJson,
  readPackageFolder,
  signPackage,
  VERSION,
} from './package.ts'
import { openSigner } from './signing.ts'
import { MANIFEST, MAX_PACKED_BYTES, PackageError, quote, readTarball } from './tarball.ts'

const REGISTRY = 'https://registry.npmjs.org'
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
const MAX_CATALOGUE_BYTES = 1024 * 1024

/** Where packages come from, and how the network is reached. */
export interface SourceParts {
  readonly config: Pick<Config, 'http' | 'packages'>
  readonly signal: AbortSignal
  /** The folder of relative paths. */
  readonly cwd: string
  /** The data folder, which has the signing key. */
  readonly data: string
}

/**
 * Reads a package from a tarball, a folder or npm, and checks its signature. A folder without a manifest is signed with
 * the key of this installation.
 */
export async function readSource(source: string, parts: SourceParts): Promise<Package> {
  if (source.startsWith('npm:')) return fromNpm(source, parts)
  const path = resolve(parts.cwd, source)
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new PackageError(`${quote(source)} cannot be read (${error.code}): name a file, a folder or npm:NAME`)
  })
  if (!found.isDirectory()) {
    if (!found.isFile() || found.size > MAX_PACKED_BYTES)
      throw new PackageError(`${quote(source)} is not a package file`)
    return openPackage(await readTarball(await readFile(path)))
  }
  const files = await readPackageFolder(path)
  return files.has(MANIFEST) ? openPackage(files) : packFolder(path, parts.data)
}

/** Signs a folder with the key of this installation, which is created if it doesn't exist. */
export async function packFolder(folder: string, data: string): Promise<Package> {
  const files = new Map(await readPackageFolder(folder))
  if (files.has(MANIFEST)) throw new PackageError(`${folder} is a signed package already: it has ${MANIFEST}`)
  const signer = await openSigner(data)
  if (signer === undefined) throw new PackageError('There is no signing key')
  return signPackage(files, signer)
}

const SOURCE = /^npm:((?:@[^@/]+\/)?[^@/]+)(?:@([A-Za-z0-9._-]{1,100}))?$/

/** The name in `npm:NAME`, with or without a version. */
function npmName(source: string): readonly [name: string, version: string] {
  const [, name = '', version = 'latest'] = SOURCE.exec(source) ?? []
  if (NAME.test(name)) return [name, version]
  throw new PackageError(`${quote(source)} is not a package of npm: write npm:NAME or npm:NAME@1.2.3`)
}

const NPM_SCHEMA = {
  type: 'object',
  required: ['versions', 'dist-tags'],
  properties: {
    'dist-tags': { type: 'object', additionalProperties: { type: 'string' } },
    versions: { type: 'object' },
  },
} as const

interface NpmDocument {
  readonly 'dist-tags': Readonly<Record<string, string>>
  readonly versions: Readonly<Record<string, unknown>>
}

/** Old versions have no integrity. They are refused, but not the others. */
const DIST_SCHEMA = {
  type: 'object',
  required: ['dist'],
  properties: {
    dist: {
      type: 'object',
      required: ['tarball', 'integrity'],
      properties: { tarball: { type: 'string' }, integrity: { type: 'string' } },
    },
  },
} as const

async function npmDocument(name: string, { config, signal }: SourceParts): Promise<NpmDocument> {
  const registry = (config.packages?.registry ?? REGISTRY).replace(/\/$/, '')
  const address = `${registry}/${name.replace('/', '%2f')}`
  const accept = 'application/vnd.npm.install-v1+json, application/json;q=0.8'
  const limits = { settings: config.http ?? {}, signal, maxBytes: MAX_DOCUMENT_BYTES, accept, tool: 'toolyard add' }
  return checkedDocument(await download(address, limits), NPM_SCHEMA)
}

/** The version that `npm:NAME` gives now. */
export async function latestVersion(source: string, parts: SourceParts): Promise<string | undefined> {
  const [name] = npmName(source)
  const { 'dist-tags': tags } = await npmDocument(name, parts)
  return Object.hasOwn(tags, 'latest') && VERSION.test(tags.latest ?? '') ? tags.latest : undefined
}

async function fromNpm(source: string, parts: SourceParts): Promise<Package> {
  const [name, asked] = npmName(source)
  const { 'dist-tags': tags, versions } = await npmDocument(name, parts)
  const version = Object.hasOwn(tags, asked) ? (tags[asked] ?? '') : asked
  if (!Object.hasOwn(versions, version)) throw new PackageError(`npm has no version ${quote(asked)} of ${name}`)
  const { dist } = checked<{ dist: { tarball: string; integrity: string } }>(versions[version], DIST_SCHEMA, source)
  const { config, signal } = parts
  const limits = {
    settings: config.http ?? {},
    signal,
    maxBytes: MAX_PACKED_BYTES,
    accept: '*/*',
    tool: 'toolyard add',
  }
  const { body } = await download(dist.tarball, limits)
  const integrity = `sha512-${createHash('sha512').update(body).digest('base64')}`
  if (!dist.integrity.split(/\s/).includes(integrity)) {
    throw new PackageError(`The tarball of ${name}@${version} does not match the integrity that npm states`)
  }
  const opened = openPackage(await readTarball(body))
  if (opened.name === name && opened.version === version) return opened
  throw new PackageError(`npm answered ${name}@${version} with ${opened.name}@${opened.version}`)
}

function checkedDocument<T>({ body, url }: { readonly body: Buffer; readonly url: string }, schema: object): T {
  return checked<T>(parsedJson(body, url), schema, url)
}

/** A package that the catalogue recommends. */
export interface CatalogueEntry {
  readonly name: string
  readonly version: string
  readonly source: string
  readonly description?: string
}

const CATALOGUE_SCHEMA = {
  type: 'object',
  required: ['packages'],
  properties: {
    packages: {
      type: 'array',
      maxItems: 1_000,
      items: {
        type: 'object',
        required: ['name', 'version', 'source'],
        properties: {
          name: { type: 'string', pattern: NAME.source },
          version: { type: 'string', pattern: VERSION.source },
          source: { type: 'string', minLength: 1, maxLength: 500 },
          description: { type: 'string', maxLength: 1_000 },
        },
      },
    },
  },
} as const

/** The packages of `packages.catalogue`, a file beside the configuration or a URL. Nothing in it is trusted. */
export async function readCatalogue(
  { packages, http = {} }: Pick<Config, 'http' | 'packages'>,
  lockFile: string,
  signal: AbortSignal,
): Promise<readonly CatalogueEntry[]> {
  const place = packages?.catalogue
  if (place === undefined) return []
  const limits = { settings: http, signal, maxBytes: MAX_CATALOGUE_BYTES, accept: 'application/json' }
  const isUrl = /^https?:\/\//i.test(place)
  const found = isUrl
    ? await download(place, { ...limits, tool: 'toolyard packages' })
    : { url: place, body: await readSmall(resolve(dirname(lockFile), place)) }
  return checkedDocument<{ packages: CatalogueEntry[] }>(found, CATALOGUE_SCHEMA).packages
}

async function readSmall(file: string): Promise<Buffer> {
  try {
    const found = await stat(file)
    if (found.isFile() && found.size <= MAX_CATALOGUE_BYTES) return await readFile(file)
  } catch (error) {
    throw new PackageError(`The catalogue ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  throw new PackageError(`The catalogue ${file} is not a file of at most 1 MB`)
}
