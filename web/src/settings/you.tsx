import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'
import { Code, Section } from '../parts/section.tsx'
import { Chip, Note } from '../parts/states.tsx'

/** Who sits here, and what that one may do. */
export function You() {
  const { data: session } = useQuery(sessionQuery)
  if (session === undefined) return null
  const { state, name, tenant, role, scopes } = session
  return (
    <Section title="You">
      {state === 'local' && (
        <Note tone="warn">
          <p className="font-medium">This server has no keys.</p>
          <p className="mt-1">
            It answers this machine only, without asking who calls: whoever sits at it is admin of the tenant{' '}
            <Code>local</Code>. The first key ends that. From then on this page and every program need one, also from
            other machines.
          </p>
          <p className="mt-1">
            Make the first key below: it has all rights, and this browser stays signed in with it. Or use the command
            line: <Code>npx toolyard keys create --role admin --all-tenants</Code>
          </p>
        </Note>
      )}
      <div className="panel grid grid-cols-1 gap-2 p-4 text-sm">
        <p>
          {state === 'local' ? 'The person at this machine' : `Signed in with the key “${name}”`}, {role} of the tenant{' '}
          <Code>{tenant}</Code>.
        </p>
        <p className="flex flex-wrap items-center gap-1.5">
          <span className="text-muted">May:</span>
          {scopes.map((scope) => (
            <Chip key={scope}>{scope}</Chip>
          ))}
        </p>
      </div>
    </Section>
  )
}
