import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ListedTenant } from '../../../src/app/callers/tenants.ts'
import { useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { count } from '../parts/figures.ts'
import { Code, Section } from '../parts/section.tsx'
import { Chip, Failed, Loading, Note } from '../parts/states.tsx'
import { FlagForm } from './flag-form.tsx'
import { type FlagChange, tenantsQuery } from './setting-queries.ts'

/** Tenants and their flags. */
export function Tenants() {
  const client = useQueryClient()
  const { data: tenants, error, refetch } = useQuery(tenantsQuery)
  const mayChange = useMay('installation')
  const change = useMutation({
    mutationFn: ({ tenant, flag, value }: FlagChange) =>
      requestJson<ListedTenant>(`/api/tenants/${encodeURIComponent(tenant)}`, {
        method: 'PATCH',
        body: { flags: { [flag]: value } },
      }),
    onSuccess: () => client.invalidateQueries(),
  })
  return (
    <Section
      title="Tenants and flags"
      about="A flag is the name of a permission or a tool. A tool with permissions runs only if all of them are allowed. Other tools run unless their name is denied."
    >
      {!mayChange && (
        <Note>
          You see the flags of your tenant. To change them, you need a key with the scope <Code>installation</Code>, or
          the command line on the server: <Code>npx toolyard tenants set NAME flag=true</Code>
        </Note>
      )}
      {tenants === undefined && error && <Failed error={error} what="the tenants" again={() => void refetch()} />}
      {tenants === undefined && !error && <Loading what="the tenants" />}
      {mayChange && tenants !== undefined && (
        <FlagForm tenants={tenants.map(({ id }) => id)} pending={change.isPending} onSet={change.mutate} />
      )}
      {change.error && (
        <Note tone="bad" role="alert">
          {change.error.message}
        </Note>
      )}
      {tenants?.length === 0 && <p className="text-sm text-muted">No tenant has flags or keys yet.</p>}
      {tenants !== undefined && tenants.length > 0 && (
        <ul aria-label="Tenants" className="grid grid-cols-1 gap-3">
          {tenants.map((tenant) => (
            <Tenant
              key={tenant.id}
              tenant={tenant}
              pending={change.isPending}
              {...(mayChange && { onChange: change.mutate })}
            />
          ))}
        </ul>
      )}
    </Section>
  )
}

interface TenantProps {
  readonly tenant: ListedTenant
  readonly pending: boolean
  readonly onChange?: (change: FlagChange) => void
}

function Tenant({ tenant: { id, flags, configured, stored, keys }, pending, onChange }: TenantProps) {
  const names = Object.keys(flags).sort()
  return (
    <li className="panel p-4 text-sm">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h3 className="font-mono font-semibold break-all">{id}</h3>
        <span className="text-muted">{count(keys, 'valid key')}</span>
      </div>
      {names.length === 0 && <p className="mt-1 text-muted">No flags.</p>}
      <ul aria-label={`Flags of ${id}`} className="divide-y divide-line">
        {names.map((flag) => {
          const isStored = Object.hasOwn(stored, flag)
          const isConfigured = Object.hasOwn(configured, flag)
          return (
            <li key={flag} className="flex flex-wrap items-center gap-x-3 gap-y-1.5 py-2">
              <span className="font-mono break-all">{flag}</span>
              <Chip tone={flags[flag] ? 'good' : 'bad'}>{flags[flag] ? 'allowed' : 'denied'}</Chip>
              <span className="text-muted">
                {isStored ? 'stored' : 'configured'}
                {isConfigured && (
                  <>
                    {isStored ? `, overrides ${configured[flag]} at ` : ' at '}
                    <Code>{`tenants.${id}.flags.${flag}`}</Code>
                  </>
                )}
              </span>
              {onChange !== undefined && (
                <span className="ml-auto flex flex-wrap gap-2">
                  <Button
                    disabled={pending}
                    aria-label={`${flags[flag] ? 'Deny' : 'Allow'} ${flag} for ${id}`}
                    onClick={() => onChange({ tenant: id, flag, value: !flags[flag] })}
                  >
                    {flags[flag] ? 'Deny' : 'Allow'}
                  </Button>
                  {isStored && (
                    <Button
                      disabled={pending}
                      aria-label={`Remove ${flag} for ${id}`}
                      onClick={() => onChange({ tenant: id, flag, value: null })}
                    >
                      {isConfigured ? 'Use configured' : 'Remove'}
                    </Button>
                  )}
                </span>
              )}
            </li>
          )
        })}
      </ul>
    </li>
  )
}
