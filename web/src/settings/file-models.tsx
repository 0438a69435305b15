import { useQuery } from '@tanstack/react-query'
import { type MouseEvent, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Section } from '../parts/section.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { ConfirmRemoval, type Removal } from '../setup/remove-part.tsx'
import { type SetupState, setupQuery } from '../setup/setup-queries.ts'

/** The providers and models of the configuration file, which can be removed. */
export function FileModels() {
  const { data: setup, error, refetch } = useQuery(setupQuery)
  return (
    <Section title="Providers and models" about="Those in the configuration file. Other models need no entry.">
      {setup !== undefined ? (
        <List setup={setup} />
      ) : error ? (
        <Failed error={error} what="the providers" again={() => void refetch()} />
      ) : (
        <Loading what="the providers" />
      )}
    </Section>
  )
}

function List({ setup }: { readonly setup: SetupState }) {
  const [removal, setRemoval] = useState<Removal>()
  const pressed = useRef<HTMLButtonElement>(null)
  const ask = (next: Removal) => (event: MouseEvent<HTMLButtonElement>) => {
    pressed.current = event.currentTarget
    setRemoval(next)
  }
  const end = () => {
    pressed.current?.focus()
    setRemoval(undefined)
  }
  const keyOf = (provider: string): string | undefined => {
    const [key] = Object.entries(setup.secrets.uses).find(([, uses]) => uses.includes(`providers.${provider}`)) ?? []
    return key && `key in the secret ${key}`
  }
  if (setup.models.length === 0) {
    return (
      <Empty title="No providers and models" action={{ label: 'Add a model', href: '/setup/model' }}>
        The configuration file has none.
      </Empty>
    )
  }
  return (
    <>
      <ul aria-label="Providers and models" className="panel divide-y divide-line">
        {setup.models.map(({ name, entry, models }) => (
          <li key={name} className="grid grid-cols-1 gap-1.5 px-4 py-3 text-sm">
            <Row
              label={name}
              about={keyOf(name)}
              isRemovable={entry}
              onRemove={ask({ kind: 'remove_provider', name })}
            />
            {models.map((id) => (
              <Row key={id} label={id} isInner isRemovable onRemove={ask({ kind: 'remove_model', id })} />
            ))}
          </li>
        ))}
      </ul>
      {removal !== undefined && <ConfirmRemoval key={JSON.stringify(removal)} {...{ setup, removal }} onEnd={end} />}
    </>
  )
}

interface RowProps {
  readonly label: string
  readonly about?: string | undefined
  readonly isInner?: boolean
  readonly isRemovable: boolean
  readonly onRemove: (event: MouseEvent<HTMLButtonElement>) => void
}

const Row = ({ label, about, isInner = false, isRemovable, onRemove }: RowProps) => (
  <div className={`flex min-h-8 items-center gap-3 ${isInner ? 'pl-4' : ''}`}>
    <span className={`min-w-0 font-mono break-all ${isInner ? 'text-muted' : 'font-medium'}`}>{label}</span>
    {about !== undefined && <span className="text-muted">{about}</span>}
    {isRemovable && (
      <Button look="danger" className="ml-auto" aria-label={`Remove ${label}`} onClick={onRemove}>
        Remove
      </Button>
    )}
  </div>
)
