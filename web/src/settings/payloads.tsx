import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SetupChange } from '../../../src/app/setup/build-change.ts'
import { Choice } from '../parts/choice.tsx'
import { Section } from '../parts/section.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { ChangePanel } from '../setup/change-panel.tsx'
import { type SetupState, setupQuery } from '../setup/setup-queries.ts'
import { useChange } from '../setup/use-change.ts'
import { writtenToast } from '../setup/written-toast.ts'

type Policy = SetupState['payloads']

const POLICIES: readonly { readonly value: Policy; readonly label: string }[] = [
  { value: 'off', label: 'None' },
  { value: 'errors', label: 'Those of failed calls' },
  { value: 'all', label: 'Those of all calls' },
]

const STORED: Readonly<Record<Policy, string>> = {
  off: 'The server stores no parameters and results from now on.',
  errors: 'The server now stores the parameters and results of failed calls.',
  all: 'The server now stores the parameters and results of all calls.',
}

/** Which parameters and results of calls the server stores. */
export function Payloads() {
  const { data: setup, error, refetch } = useQuery(setupQuery)
  return (
    <Section
      title="Stored parameters and results"
      about="The server stores them for 7 days, without secrets and up to 64 KB each. People with the scope observe can read them."
    >
      {setup !== undefined ? (
        <Policies setup={setup} />
      ) : error ? (
        <Failed error={error} what="the setting" again={() => void refetch()} />
      ) : (
        <Loading what="the setting" />
      )}
    </Section>
  )
}

function Policies({ setup }: { readonly setup: SetupState }) {
  const [chosen, setChosen] = useState<Policy>()
  const policy = chosen ?? setup.payloads
  const wanted: SetupChange | undefined = policy === setup.payloads ? undefined : { kind: 'payloads', policy }
  const change = useChange(wanted, (view) => {
    setChosen(undefined)
    toast(writtenToast(STORED[policy], view))
  })
  return (
    <>
      <div className="w-64 max-sm:w-full">
        <Choice
          label="Stored parameters and results"
          value={policy}
          options={POLICIES}
          onChange={(value) => setChosen(value as Policy)}
        />
      </div>
      {wanted !== undefined && (
        <ChangePanel setup={setup} change={change} missing="" onWrite={() => change.write(wanted)} />
      )}
    </>
  )
}
