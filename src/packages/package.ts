import { createHash } from 'node:crypto'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { versionProblem } from '../core/execution/tool-view.ts'
import { canonicalText } from '../core/json/canonical-text.ts'
import { parseBody, RefusedJsonError } from '../core/json/json-depth.ts'
import { compileSchema } from '../core/schema/compiled-schema.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { type Contents, contentsOf } from './contents.ts'
import { isSignedBy, type Signer } from './signing.ts'
import { FileCollector, type Files, isPackagePath, MANIFEST, PackageError, quote } from './tarball.ts'

/** A package whose signature and files were checked. */
export interface Package {
  readonly name: string
  readonly version: string
  readonly description: string
  /** The public key that signed it. */
  readonly key: string
  /** The hash of the manifest, which has the hash of every file. */
  readonly hash: string
  readonly contents: Contents
  /** Definitions whose included files are filled in. */
  readonly definitions: readonly ToolDefinition[]
  readonly files: Files
}

export const NAME = /^(?:@[a-z0-9][a-z0-9._-]{0,60}\/)?[a-z0-9][a-z0-9._-]{0,60}$/
export const VERSION = /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-[0-9A-Za-z.-]{1,64})?$/

const PACKAGE_SCHEMA = {
  type: 'object',
  required: ['name', 'version'],
  properties: {
    name: { type: 'string', pattern: NAME.source },
    version: { type: 'string', pattern: VERSION.source, maxLength: 100 },
    description: { type: 'string', maxLength: 1_000 },
    toolyard: {
      type: 'object',
      additionalProperties: false,
      properties: { hosts: { type: 'array', maxItems: 100, items: { type: 'string', minLength: 1 } } },
    },
  },
} as const

interface PackageJson {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly toolyard?: { readonly hosts?: readonly string[] }
  readonly [key: string]: unknown
}

const HASH = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const
const MANIFEST_SCHEMA = {
  type: 'object',
  required: ['format', 'name', 'version', 'files', 'key', 'signature'],
  additionalProperties: false,
  properties: {
    format: { const: 1 },
    name: { type: 'string' },
    version: { type: 'string' },
    files: { type: 'object', additionalProperties: HASH },
    key: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
    signature: { type: 'string', pattern: '^[A-Za-z0-9_-]{86}$' },
  },
} as const

interface Manifest {
  readonly format: 1
  readonly name: string
  readonly version: string
  readonly files: Readonly<Record<string, string>>
  readonly key: string
  readonly signature: string
}

/** Adds the signed manifest to the files of a package. Throws if they don't make a package. */
export function signPackage(files: Files, signer: Signer): Package {
  const { name, version } = readPackageJson(files)
  const content = { format: 1, name, version, files: hashesOf(files), key: signer.key }
  const manifest = { ...content, signature: signer.sign(canonicalText(content)) }
  return openPackage(new Map([...files, [MANIFEST, Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)]]))
}

/** Checks the signature and the hash of every file before it reads anything else. */
export function openPackage(all: Files): Package {
  const text = all.get(MANIFEST)
  if (text === undefined)
    throw new PackageError(`It is not signed: it has no ${MANIFEST}. Create it with "toolyard pack"`)
  const { signature, ...signed } = checked<Manifest>(parsedJson(text, MANIFEST), MANIFEST_SCHEMA, MANIFEST)
  const content = canonicalText(signed)
  if (!isSignedBy(signed.key, content, signature)) {
    throw new PackageError('Its signature is wrong: the manifest was changed after it was signed')
  }
  const files = new Map([...all].filter(([path]) => path !== MANIFEST))
  const hashes = hashesOf(files)
  for (const path of new Set([...Object.keys(hashes), ...Object.keys(signed.files)])) {
    if (!Object.hasOwn(signed.files, path))
      throw new PackageError(`Its file ${quote(path)} is not in the signed manifest`)
    if (!Object.hasOwn(hashes, path)) throw new PackageError(`Its file ${quote(path)} is missing`)
    if (signed.files[path] !== hashes[path])
      throw new PackageError(`Its file ${quote(path)} was changed after it was signed`)
  }
  const { name, version, description = '', toolyard } = readPackageJson(files)
  if (signed.name !== name || signed.version !== version) {
    throw new PackageError(`${MANIFEST} is about ${quote(`${signed.name}@${signed.version}`)}, not ${name}@${version}`)
  }
  const definitions = readDefinitions(files)
  const contents = contentsOf(definitions, files, toolyard?.hosts ?? [])
  const { key } = signed
  return { name, version, description, key, hash: sha256(Buffer.from(content)), contents, definitions, files: all }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const hashesOf = (files: Files): Record<string, string> =>
  Object.fromEntries([...files].map(([path, content]) => [path, sha256(content)]))

const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']

function readPackageJson(files: Files): PackageJson {
  const text = files.get('package.json')
  if (text === undefined) throw new PackageError('It has no package.json')
  const read = checked<PackageJson>(parsedJson(text, 'package.json'), PACKAGE_SCHEMA, 'package.json')
  const wrong = versionProblem(read.version)
  if (wrong !== undefined) throw new PackageError(`package.json: ${wrong}`)
  // Node.js would take a folder of such a name for something else.
  if (/^(?:node_modules|package\.json)$/.test(read.name.replace(/^.*\//, ''))) {
    throw new PackageError(`package.json: the name ${quote(read.name)} is reserved`)
  }
  const scripts = Object.keys(Object(read.scripts)).filter((name) => INSTALL_SCRIPTS.includes(name))
  if (scripts.length > 0) throw new PackageError(`package.json has the install script ${scripts[0]}: remove it`)
  for (const key of ['dependencies', 'optionalDependencies', 'peerDependencies']) {
    const [first] = Object.keys(Object(read[key]))
    if (first !== undefined) {
      throw new PackageError(`package.json has ${key} (${quote(first)}): bundle them into the handlers`)
    }
  }
  return read
}

/** A value that matches a schema. `path` names it in the message. */
export function checked<T>(value: unknown, schema: object, path: string): T {
  const compiled = compileSchema(schema as Parameters<typeof compileSchema>[0])
  if (compiled.check?.(value)) return value as T
  const [problem] = compiled.explain(value)
  throw new PackageError(`${path}: ${problem?.message.replace(/^parameters /, 'it ') ?? 'it is not valid'}`)
}

const MAX_DEPTH = 100

/** JSON of another author. */
export function parsedJson(text: Buffer, path: string): unknown {
  try {
    return parseBody(text, MAX_DEPTH)
  } catch (error) {
    const { message } = error as Error
    throw new PackageError(`${path} ${error instanceof RefusedJsonError ? message : `is not valid JSON: ${message}`}`)
  }
}

function readDefinitions(files: Files): ToolDefinition[] {
  const found = [...files].filter(([path]) => path.startsWith('tools/'))
  const definitions = found.flatMap(([path, text]) => {
    const value = parsedJson(text, path)
    return (Array.isArray(value) ? value : [value]).map((one) => withIncluded(one, files, path))
  })
  if (definitions.length === 0) throw new PackageError('It has no tools: put definitions into tools/NAME.json')
  return definitions
}

/** Replaces `{"include": "prompts/x.md"}` and `{"include": "mocks/x.json"}` in an implementation. */
function withIncluded(definition: unknown, files: Files, place: string): ToolDefinition {
  const { implementation, ...rest } = Object(definition) as ToolDefinition
  const entries = Object.entries(Object(implementation)).map(([key, value]) => {
    const { include, ...others } = Object(value) as { include?: unknown }
    const isFile = typeof include === 'string' && Object.keys(others).length === 0 && /^(prompts|mocks)\//.test(include)
    if (!isFile) return [key, value]
    const text = files.get(include)
    if (text === undefined) throw new PackageError(`${place} includes ${quote(include)}, which is missing`)
    return [key, include.endsWith('.json') ? parsedJson(text, include) : text.toString('utf8')]
  })
  return { ...rest, implementation: Object.fromEntries(entries) }
}

const FOLDERS = ['tools', 'handlers', 'prompts', 'suites', 'mocks'] as const

/** The files of a package in a folder. `strict` refuses files that don't belong to it, otherwise they are left out. */
export async function readPackageFolder(folder: string, strict = false): Promise<Files> {
  const collected = new FileCollector()
  const read = async (path: string): Promise<void> => {
    const found = await lstat(join(folder, path))
    if (!found.isFile()) throw new PackageError(`${quote(path)} is not a file: links and devices are refused`)
    // Before the file is read.
    if (found.size > MAX_FILE_BYTES) throw new PackageError(`${quote(path)} is larger than 32 MB`)
    collected.add(path, await readFile(join(folder, path)))
  }
  try {
    for (const name of (await readdir(folder)).sort()) {
      if (FOLDERS.includes(name as (typeof FOLDERS)[number])) {
        if (!(await lstat(join(folder, name))).isDirectory()) throw new PackageError(`${quote(name)} is not a folder`)
        const files = (await readdir(join(folder, name))).filter((file) => strict || !file.startsWith('.'))
        for (const file of files.sort()) await read(`${name}/${file}`)
      } else if (strict || isPackagePath(name)) await read(name)
    }
  } catch (error) {
    if (error instanceof PackageError) throw error
    throw new PackageError(`${folder} cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error })
  }
  return collected.files
}

const MAX_FILE_BYTES = 32 * 1024 * 1024
