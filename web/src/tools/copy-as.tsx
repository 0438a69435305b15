import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { snippets } from './snippets.ts'

interface CopyAsProps {
  readonly tool: string
  readonly params: Record<string, unknown>
}

/** The call as shell and program code. */
export function CopyAs({ tool, params }: CopyAsProps) {
  const { data: session } = useQuery(sessionQuery)
  const all = snippets({ tool, params, url: location.origin, withKey: session?.state === 'signed_in' })
  return (
    <div className="grid gap-4">
      {all.map(({ title, text }) => (
        <section key={title} aria-label={title} className="panel min-w-0 p-4">
          <div className="flex items-center justify-between gap-2">
            <h3 className="font-medium">{title}</h3>
            <CopyButton text={text} label={`Copy ${title}`} />
          </div>
          <pre className="mt-3 overflow-x-auto rounded-lg bg-sunk p-3 text-[0.8125rem]" tabIndex={0}>
            {text}
          </pre>
        </section>
      ))}
    </div>
  )
}
