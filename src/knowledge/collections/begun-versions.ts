import { hash, randomUUID } from 'node:crypto'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { badParameter, quoted } from '../../kinds/builtin/read-parameter.ts'
import { OWN_TENANT } from './own-docs.ts'
import type { PreparedPart } from './prepare-part.ts'

/** Where it is noted which version of a document was begun last: by documents without a chunk, which nobody can find. */
const NOTES = 'begun'

/**
 * The version that a part belongs to which names none. The first part begins one, always a new one: a later part may
 * have changed where the first has not. The others join the one that was begun last, whichever server began it.
 */
export async function joinVersion(store: KnowledgeStore, part: PreparedPart): Promise<string> {
  if (part.part === 0) return begin(store, part)
  const begun = await store.document(OWN_TENANT, NOTES, noteOf(part))
  const [parts, version] = begun?.version.split('.') ?? []
  if (version !== undefined && Number(parts) === part.parts) return version
  const why =
    version === undefined ? 'no version of it has been begun' : `the version that was begun last has ${parts} parts`
  throw badParameter(
    `document ${quoted(part.document_id)}: ${why}, so part ${part.part + 1} of ${part.parts} belongs to none. ` +
      'Send part 1 first, or give all parts the same version',
  )
}

/** A version that is whole needs no note. */
export async function endVersion(store: KnowledgeStore, part: PreparedPart): Promise<void> {
  await store.remove(OWN_TENANT, NOTES, noteOf(part))
}

async function begin(store: KnowledgeStore, part: PreparedPart): Promise<string> {
  const version = randomUUID()
  await store.open(OWN_TENANT, NOTES, null)
  await store.put({
    tenant: OWN_TENANT,
    collection: NOTES,
    document_id: noteOf(part),
    version: `${part.parts}.${version}`,
    part: 0,
    parts: 1,
    source: '',
    metadata: {},
    chunks: [],
  })
  return version
}

const noteOf = ({ tenant, collection, document_id }: PreparedPart): string =>
  hash('sha256', JSON.stringify([tenant, collection, document_id]), 'hex')
