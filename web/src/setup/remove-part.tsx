import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { SetupChange } from '../../../src/app/setup/build-change.ts'
import { Button } from '../parts/button.tsx'
import { toast } from '../parts/toast.tsx'
import { ChangePanel } from './change-panel.tsx'
import { type SetupState, setupQuery } from './setup-queries.ts'
import { useChange } from './use-change.ts'
import { writtenToast } from './written-toast.ts'

export type Removal = Extract<SetupChange, { readonly kind: `remove_${string}` }>

const WORDS = {
  remove_model: 'model',
  remove_provider: 'provider',
  remove_tool: 'tool',
  remove_mcp_server: 'MCP server',
} as const

const nameOf = (removal: Removal): string =>
  `the ${WORDS[removal.kind]} ${removal.kind === 'remove_model' ? removal.id : removal.name}`

interface ConfirmRemovalProps {
  readonly setup: SetupState
  readonly removal: Removal
  /** Afterwards, and if it is cancelled. */
  readonly onEnd: (isRemoved: boolean) => void
}

/** Shows the file without a part of it, and writes it. */
export function ConfirmRemoval({ setup, removal, onEnd }: ConfirmRemovalProps) {
  const change = useChange(removal, (view) => {
    toast(writtenToast(`Removed ${nameOf(removal)}.`, view))
    onEnd(true)
  })
  const group = useRef<HTMLDivElement>(null)
  useEffect(() => group.current?.focus(), [])
  // Its buttons are below the change, which is loaded first.
  useEffect(() => {
    if (change.current) group.current?.scrollIntoView({ block: 'nearest' })
  }, [change.current])
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a look of its own.
    <div
      ref={group}
      role="group"
      aria-label={`Remove ${nameOf(removal)}`}
      tabIndex={-1}
      className="grid grid-cols-1 gap-3"
    >
      <ChangePanel
        setup={setup}
        change={change}
        missing=""
        action={`Remove ${nameOf(removal)}`}
        onWrite={() => change.write(removal)}
      />
      <div>
        <Button look="quiet" onClick={() => onEnd(false)}>
          Cancel
        </Button>
      </div>
    </div>
  )
}

interface RemovePartProps {
  readonly removal: { readonly kind: 'remove_tool' | 'remove_mcp_server'; readonly name: string }
  readonly onRemoved?: () => void
}

/** A button that removes a tool or an MCP server from the configuration file. Nothing if it comes from elsewhere. */
export function RemovePart({ removal, onRemoved }: RemovePartProps) {
  const { data: setup } = useQuery(setupQuery)
  const [asking, setAsking] = useState(false)
  const [cancelled, setCancelled] = useState(false)
  const { kind, name } = removal
  if (setup === undefined || !(kind === 'remove_tool' ? setup.tools : setup.servers).includes(name)) return null
  if (!asking) {
    return (
      <div>
        <Button look="danger" autoFocus={cancelled} onClick={() => setAsking(true)}>
          Remove {name} …
        </Button>
      </div>
    )
  }
  const onEnd = (isRemoved: boolean) => {
    setAsking(false)
    setCancelled(!isRemoved)
    if (isRemoved) onRemoved?.()
  }
  return <ConfirmRemoval {...{ setup, removal, onEnd }} />
}
