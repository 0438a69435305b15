import { useQuery } from '@tanstack/react-query'
import type { ShownKey } from '../../../src/operations/key-rules.ts'
import { sessionQuery } from '../api/queries.ts'
import { Code, Section } from '../parts/section.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { KeyEntry } from './key-entry.tsx'
import { KeyForm } from './key-form.tsx'
import { keysQuery, type MadeKey, rolesQuery } from './setting-queries.ts'

/** Focuses the row of a key, or the list if it isn't there yet. */
export const focusKey = (id: string): void =>
  (document.getElementById(`key-${id}`) ?? document.getElementById('keys'))?.focus()

/** Lists, creates, edits and revokes the keys of the tenant. */
export function Keys({ onMade }: { readonly onMade: (made: MadeKey) => void }) {
  const { data: session } = useQuery(sessionQuery)
  const { data: keys, error, refetch } = useQuery(keysQuery)
  const { data: known } = useQuery(rolesQuery)
  const managesKeys = ({ role, scopes }: ShownKey): boolean =>
    (scopes ?? known?.roles.find(({ name }) => name === role)?.scopes ?? []).includes('manage')
  const valid = keys?.filter((key) => key.revoked_at === null) ?? []
  const revoked = keys?.filter((key) => key.revoked_at !== null) ?? []
  const entry = (key: (typeof valid)[number]) => (
    <KeyEntry
      key={key.id}
      shown={key}
      isOwn={key.id === session?.id}
      isLastAdmin={valid.filter(managesKeys).length === 1 && managesKeys(key)}
    />
  )
  return (
    <Section
      title="Keys"
      about={
        <>
          Keys of the tenant <Code>{session?.tenant}</Code>. Create keys for other tenants with{' '}
          <Code>npx toolyard keys create --tenant NAME</Code>.
        </>
      }
    >
      <KeyForm onMade={onMade} isFirst={session?.state === 'local' && keys?.length === 0} />
      {keys === undefined && error && <Failed error={error} what="the keys" again={() => void refetch()} />}
      {keys === undefined && !error && <Loading what="the keys" />}
      {keys?.length === 0 && <p className="text-sm text-muted">No keys yet.</p>}
      {valid.length > 0 && (
        <ul aria-label="Valid keys" className="panel divide-y divide-line">
          {valid.map(entry)}
        </ul>
      )}
      {revoked.length > 0 && (
        <details>
          <summary className="text-sm font-medium">Revoked keys ({revoked.length})</summary>
          <ul aria-label="Revoked keys" className="panel mt-2 divide-y divide-line">
            {revoked.map(entry)}
          </ul>
        </details>
      )}
    </Section>
  )
}
