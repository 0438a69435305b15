import { useQuery } from '@tanstack/react-query'
import { CheckIcon } from '../parts/icons.tsx'
import { Section } from '../parts/section.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { rolesQuery } from './setting-queries.ts'

/** The scopes, tools and models of each role. Roles are changed in the configuration. */
export function Roles() {
  const { data, error, refetch } = useQuery(rolesQuery)
  return (
    <Section
      title="Roles"
      about="Roles are built in or in the configuration. A key can have fewer scopes, tools and models than its role."
    >
      {data === undefined && error && <Failed error={error} what="the roles" again={() => void refetch()} />}
      {data === undefined && !error && <Loading what="the roles" />}
      {data !== undefined && (
        <section aria-label="Scopes of each role" className="panel overflow-x-auto" tabIndex={0}>
          <table className="w-full text-left text-sm">
            <thead className="text-xs text-muted">
              <tr>
                <th scope="col" className="px-3 py-2 font-medium sm:px-4">
                  Scope
                </th>
                {data.roles.map(({ name }) => (
                  <th key={name} scope="col" className="px-2 py-2 text-center font-medium sm:px-4">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.scopes.map(({ name, allows }) => (
                <tr key={name} className="border-t border-line">
                  <th scope="row" className="px-3 py-2 font-normal sm:px-4">
                    <span className="font-mono">{name}</span>
                    <span className="block text-xs text-muted">{allows}</span>
                  </th>
                  {data.roles.map((role) => (
                    <td key={role.name} className="px-2 py-2 text-center sm:px-4">
                      {role.scopes.includes(name) ? (
                        <span className="inline-block text-good">
                          <CheckIcon />
                          <span className="sr-only">yes</span>
                        </span>
                      ) : (
                        <span className="sr-only">no</span>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
              {(['tools', 'models'] as const)
                .filter((what) => data.roles.some((role) => role[what] !== undefined))
                .map((what) => (
                  <tr key={what} className="border-t border-line">
                    <th scope="row" className="px-3 py-2 font-normal sm:px-4">
                      Only these {what}
                    </th>
                    {data.roles.map((role) => (
                      <td key={role.name} className="px-2 py-2 text-center font-mono text-xs break-all sm:px-4">
                        {role[what]?.join(', ') ?? <span className="font-sans text-muted">all</span>}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </section>
      )}
    </Section>
  )
}
