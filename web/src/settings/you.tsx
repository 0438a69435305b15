import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'
import { Code, Section } from '../parts/section.tsx'
import { Chip, Note } from '../parts/states.tsx'

/** The current user and its scopes. */
export function You() {
  const { data: session } = useQuery(sessionQuery)
  if (session === undefined) return null
  const { state, name, tenant, role, scopes, user } = session
  return (
    <Section title="You">
      {state === 'local' && (
        <Note tone="warn">
          <p className="font-medium">This server has no API keys.</p>
          <p className="mt-1">
            It accepts requests from this machine only, without a key. Everyone on this machine is an admin of the
            tenant <Code>local</Code>. After you create the first key, every request needs a key, and other machines can
            connect.
          </p>
          <p className="mt-1">
            Create the first key below. It has all rights, and this browser stays signed in with it. Or use the command
            line: <Code>npx toolyard keys create --role admin --all-tenants</Code>
          </p>
        </Note>
      )}
      <div className="panel grid grid-cols-1 gap-2 p-4 text-sm">
        <p>
          {state === 'local' ? 'Local user' : `Signed in ${user === undefined ? 'with the key' : 'as'} “${name}”`},{' '}
          {role} of the tenant <Code>{tenant}</Code>.
        </p>
        <p className="flex flex-wrap items-center gap-1.5">
          <span className="text-muted">Scopes:</span>
          {scopes.map((scope) => (
            <Chip key={scope}>{scope}</Chip>
          ))}
        </p>
      </div>
    </Section>
  )
}
