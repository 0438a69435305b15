import { useEffect, useRef } from 'react'
import type { ListedModel } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { Empty, Note } from '../parts/states.tsx'
import { badgeOf } from './model-badge.tsx'
import { ModelSelect } from './model-select.tsx'

type Chosen = readonly (string | null)[]

interface ModelChoicesProps {
  readonly models: readonly ListedModel[]
  readonly chosen: Chosen
  readonly onChange: (chosen: Chosen) => void
  /** The maximum number of models side by side. */
  readonly most: number
  /** In one line, without warnings: the conversation has begun. */
  readonly compact?: boolean
}

/** Selects one model, or several to compare. Warns about models that aren't validated. */
export function ModelChoices({ models, chosen, onChange, most, compact = false }: ModelChoicesProps) {
  const places = useRef<HTMLDivElement>(null)
  const more = useRef<HTMLButtonElement>(null)
  const pressed = useRef<'add' | 'remove'>(undefined)
  // The pressed button may be gone: focus the added select, or the button that adds another one.
  useEffect(() => {
    const lists = places.current?.querySelectorAll<HTMLElement>('[role="combobox"]')
    if (pressed.current === 'add') lists?.[chosen.length - 1]?.focus()
    if (pressed.current === 'remove') more.current?.focus()
    pressed.current = undefined
  }, [chosen.length])
  const add = () => {
    pressed.current = 'add'
    onChange([...chosen, null])
  }
  const remove = (index: number) => {
    pressed.current = 'remove'
    onChange(chosen.toSpliced(index, 1))
  }
  if (models.length === 0) {
    return (
      <Empty title="No models">
        {' '}
        Add some to <code className="font-mono">models</code> in the configuration.
      </Empty>
    )
  }
  const usable = models.filter(({ reason }) => reason === undefined)
  const doubtful = models.filter((model) => chosen.includes(model.id) && !model.validation.validated)
  return (
    <div ref={places} className={compact ? 'flex flex-wrap items-center gap-2' : 'grid grid-cols-1 gap-3'}>
      {chosen.map((value, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: entries are identified by their position.
        <div key={index} className={`flex items-end gap-2 ${compact ? 'min-w-56 flex-1' : ''}`}>
          <div className="min-w-0 flex-1">
            <ModelSelect
              label={index === 0 ? 'Select Model' : `Compare with (${index + 1})`}
              models={models}
              compact={compact}
              value={value}
              onChange={(id) => onChange(chosen.with(index, id))}
            />
          </div>
          {index > 0 && (
            <Button className="min-h-10" aria-label={`Remove model ${index + 1}`} onClick={() => remove(index)}>
              Remove
            </Button>
          )}
        </div>
      ))}
      {!compact && doubtful.length > 0 && (
        <Note tone="warn">
          {doubtful
            .map((model) =>
              model.validation.tested
                ? `${model.name} is not validated: ${badgeOf(model).trials}, and 80 % must pass.`
                : `${model.name} hasn’t been tested on this server yet.`,
            )
            .join(' ')}
        </Note>
      )}
      {chosen.length < Math.min(most, usable.length) && (
        <div>
          <button ref={more} type="button" className="text-sm text-accent underline underline-offset-2" onClick={add}>
            Compare with another model
          </button>
        </div>
      )}
    </div>
  )
}
