import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { RolesView } from '../../../src/operations/tenants.ts'
import { Choice } from '../parts/choice.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { CheckIcon } from '../parts/icons.tsx'
import { Code, Section } from '../parts/section.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { listOf, PatternField } from './key-form.tsx'
import { rolesQuery } from './setting-queries.ts'

/** The scopes, tools and models of each role, and the lines of the configuration that define one. */
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
      {data !== undefined && (
        <p className="text-sm text-muted">
          The first key of a server is an admin key with one scope more: <Code>installation</Code>. Later admin keys get
          it only from the command line.
        </p>
      )}
      {data !== undefined && <RoleLines {...data} />}
    </Section>
  )
}

const BUILT_IN: ReadonlySet<string> = new Set(['user', 'operator', 'admin'])
const NEW = ''

/** Edits a role and shows the lines of the configuration that define it. */
function RoleLines({ roles, scopes }: RolesView) {
  const ids = useId()
  const [of, setOf] = useState(NEW)
  const [name, setName] = useState('')
  const [given, setGiven] = useState<ReadonlySet<string>>(new Set(['read', 'call']))
  const [tools, setTools] = useState('')
  const [models, setModels] = useState('')
  const start = (chosen: string) => {
    const role = roles.find((one) => one.name === chosen)
    setOf(chosen)
    setName(role && !BUILT_IN.has(chosen) ? chosen : '')
    setGiven(new Set(role?.scopes ?? ['read', 'call']))
    setTools(role?.tools?.join(', ') ?? '')
    setModels(role?.models?.join(', ') ?? '')
  }
  const toggle = (scope: string) => {
    const next = new Set(given)
    if (!next.delete(scope)) next.add(scope)
    setGiven(next)
  }
  const patterns = { tools: listOf(tools) ?? undefined, models: listOf(models) ?? undefined }
  const listed = scopes.flatMap((scope) => (given.has(scope.name) ? [scope.name] : []))
  const lines = JSON.stringify({ roles: { [name.trim() || 'name']: { scopes: listed, ...patterns } } }, null, 2)
  const isTaken = BUILT_IN.has(name.trim())
  return (
    <details>
      <summary className="text-sm font-medium">Define a role</summary>
      <form
        aria-label="Define a role"
        className="panel mt-2 grid grid-cols-1 gap-3 p-4"
        onSubmit={(event) => event.preventDefault()}
      >
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <div className="grid gap-1 text-sm font-medium">
            <span aria-hidden="true">Start from</span>
            <Choice
              label="Start from"
              value={of}
              options={[
                { value: NEW, label: 'a new role' },
                ...roles.map((one) => ({ value: one.name, label: one.name })),
              ]}
              onChange={start}
            />
          </div>
          <label htmlFor={`${ids}name`} className="grid gap-1 text-sm font-medium">
            Name of the role
            <input
              id={`${ids}name`}
              className="field font-normal"
              maxLength={64}
              placeholder="analyst"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          <PatternField
            id={`${ids}tools`}
            label="Tools of the role"
            example="get_*"
            value={tools}
            onChange={setTools}
          />
          <PatternField
            id={`${ids}models`}
            label="Models of the role"
            example="mini:*"
            value={models}
            onChange={setModels}
          />
        </div>
        <fieldset>
          <legend className="text-sm font-medium">Scopes of the role</legend>
          <div className="mt-1 flex flex-wrap gap-x-5 gap-y-2 text-sm">
            {scopes.map((scope) => (
              <label key={scope.name} className="inline-flex min-h-6 items-center gap-2">
                <input
                  type="checkbox"
                  className="size-4 accent-accent"
                  checked={given.has(scope.name)}
                  onChange={() => toggle(scope.name)}
                />
                {scope.name}
              </label>
            ))}
          </div>
        </fieldset>
        <p className="text-sm text-muted">
          {isTaken ? (
            `“${name.trim()}” is built in: choose another name.`
          ) : (
            <>
              Merge these lines into <Code>toolyard.config.json</Code> and restart the server, or send it SIGHUP.
            </>
          )}
        </p>
        <pre className="overflow-x-auto rounded-lg bg-sunk p-3 text-xs" tabIndex={0}>
          {lines}
        </pre>
        <div>
          <CopyButton text={lines} label="Copy lines" />
        </div>
      </form>
    </details>
  )
}
