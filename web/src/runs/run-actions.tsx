import { useState } from 'react'
import { Link } from 'wouter'
import type { StoredRun } from '../../../src/core/storage/run-store.ts'
import { useMay } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { testingAddress } from '../testing/run-link.ts'
import { ReplayRun } from './replay-run.tsx'
import { SaveCase } from './save-case.tsx'
import { SaveTest } from './save-test.tsx'

/** The actions for a stored run. */
export function RunActions({ run }: { readonly run: StoredRun }) {
  const mayChat = useMay('chat')
  const [open, setOpen] = useState<'replay' | 'save'>()
  const toggle = (part: 'replay' | 'save') => () => setOpen(open === part ? undefined : part)
  return (
    <>
      <div className="mt-3 flex flex-wrap gap-2">
        <CopyButton text={location.href} label="Copy link" />
        {mayChat && run.question !== '' && (
          <Link
            href={testingAddress(run.question, run.model, run.id)}
            className="inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk"
          >
            Run again
          </Link>
        )}
        <Button aria-expanded={open === 'replay'} onClick={toggle('replay')}>
          Replay
        </Button>
        <Button aria-expanded={open === 'save'} onClick={toggle('save')}>
          Save as validation case
        </Button>
        <SaveTest from={{ run_id: run.id }} />
      </div>
      {open === 'replay' && <ReplayRun run={run} />}
      {open === 'save' && <SaveCase run={run} />}
    </>
  )
}
