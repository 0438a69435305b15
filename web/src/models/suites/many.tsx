import type { ReactNode } from 'react'

interface Option {
  readonly id: string
  readonly title: string
  readonly note?: string
  /** Disabled; the note says why. */
  readonly bad?: boolean
  readonly more?: ReactNode
}

interface ManyProps {
  readonly legend: string
  readonly options: readonly Option[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

/** A list of checkboxes. */
export const Many = ({ legend, options, chosen, onChange }: ManyProps) => (
  <fieldset className="min-w-0">
    <legend className="text-sm font-medium">{legend}</legend>
    <ul className="mt-1 grid max-h-72 grid-cols-1 gap-1 overflow-y-auto">
      {options.map(({ id, title, note, bad = false, more }) => (
        <li key={id}>
          <label className="flex items-start gap-2.5 rounded-lg px-2 py-1.5 hover:bg-sunk has-[:checked]:bg-sunk">
            <input
              type="checkbox"
              className="mt-1 size-4 shrink-0 accent-(--accent)"
              disabled={bad}
              checked={chosen.includes(id)}
              onChange={({ target }) =>
                onChange(target.checked ? [...chosen, id] : chosen.filter((other) => other !== id))
              }
            />
            <span className="min-w-0">
              <span className="flex flex-wrap items-center gap-x-2">
                <span className="font-medium break-words">{title}</span>
                {more}
              </span>
              {note !== undefined && (
                <span className={`block text-xs break-words whitespace-pre-line ${bad ? 'text-bad' : 'text-muted'}`}>
                  {note}
                </span>
              )}
            </span>
          </label>
        </li>
      ))}
    </ul>
  </fieldset>
)
