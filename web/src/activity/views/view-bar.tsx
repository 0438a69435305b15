import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useMay } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Note } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { isSameAddress, isSavable, saveView, viewsQuery, viewText } from './saved-views.ts'

/** The saved views, and the button that saves the present filters under a name. */
export function ViewBar() {
  const mayObserve = useMay('observe')
  const { data: views = [] } = useQuery({ ...viewsQuery, enabled: mayObserve })
  const [path] = useLocation()
  const search = useSearch()
  const [draft, setDraft] = useState<string>()
  const address = search === '' ? path : `${path}?${search}`
  if (!mayObserve || !isSavable(address)) return null
  const isSaved = views.some((view) => isSameAddress(view.address, address))
  if (views.length === 0 && search === '') return null
  return (
    <section aria-label="Saved views" className="mb-3 flex flex-wrap items-center gap-1.5 text-sm compact:mb-1">
      {views.map((view) => (
        <Link
          key={`${view.owner} ${view.id}`}
          href={view.address}
          title={viewText(view.address)}
          aria-current={isSameAddress(view.address, address) ? 'true' : undefined}
          className="max-w-60 truncate rounded-full border border-line bg-panel px-2.5 py-0.5 hover:bg-sunk aria-[current]:border-accent aria-[current]:text-accent"
        >
          {view.name}
        </Link>
      ))}
      {draft === undefined && search !== '' && !isSaved && (
        <Button look="quiet" onClick={() => setDraft('')}>
          Save this view
        </Button>
      )}
      {draft !== undefined && (
        <NewView
          key={address}
          address={address}
          done={() => {
            setDraft(undefined)
          }}
        />
      )}
    </section>
  )
}

function NewView({ address, done }: { readonly address: string; readonly done: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [shared, setShared] = useState(false)
  const save = useMutation({
    mutationFn: () => saveView(crypto.randomUUID(), { name: name.trim(), address, shared, pinned: false }),
    onSuccess: async (view) => {
      await client.invalidateQueries({ queryKey: viewsQuery.queryKey })
      toast({ text: `Saved “${view.name}”`, link: { label: 'All views', href: '/activity/views' } })
      done()
    },
  })
  return (
    <form
      className="flex w-full flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (name.trim() !== '') save.mutate()
      }}
    >
      <input
        aria-label="Name of the view"
        placeholder={viewText(address)}
        // biome-ignore lint/a11y/noAutofocus: the user has just asked for it.
        autoFocus
        className="field w-64 max-w-full"
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={({ key }) => key === 'Escape' && done()}
      />
      <label className="flex items-center gap-1.5">
        <input type="checkbox" checked={shared} onChange={(event) => setShared(event.target.checked)} />
        Share with everyone of the tenant
      </label>
      <Button type="submit" look="main" disabled={name.trim() === '' || save.isPending}>
        Save
      </Button>
      <Button look="quiet" onClick={done}>
        Cancel
      </Button>
      {save.error && (
        <Note tone="bad" role="alert">
          {save.error.message}
        </Note>
      )}
    </form>
  )
}
