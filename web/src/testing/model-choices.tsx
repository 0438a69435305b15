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
  /** How many can run side by side. */
  readonly most: number
}

/** The model that is tested, or several to be compared; with a word on those that have not shown what they can. */
export function ModelChoices({ models, chosen, onChange, most }: ModelChoicesProps) {
  if (models.length === 0) {
    return (
      <Empty title="There are no models">
        Name some in <code className="font-mono">models</code> of the configuration.
      </Empty>
    )
  }
  const doubtful = models.filter((model) => chosen.includes(model.id) && !model.validation.validated)
  return (
    <div className="grid grid-cols-1 gap-3">
      {chosen.map((value, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: which model stands in which place is all that there is.
        <div key={index} className="flex items-end gap-2">
          <div className="min-w-0 flex-1">
            <ModelSelect
              label={index === 0 ? 'Select Model' : `Compare with (${index + 1})`}
              models={models}
              value={value}
              onChange={(id) => onChange(chosen.with(index, id))}
            />
          </div>
          {index > 0 && (
            <Button className="min-h-10" onClick={() => onChange(chosen.toSpliced(index, 1))}>
              Remove
            </Button>
          )}
        </div>
      ))}
      {doubtful.map((model) => (
        <Note key={model.id} tone="warn">
          {model.name} is not validated for tools: {badgeOf(model).trials}
          {model.validation.tested && ', and four of five are needed'}. Do not rely on it yet.
        </Note>
      ))}
      {chosen.length < Math.min(most, models.length) && (
        <div>
          <button
            type="button"
            className="text-sm text-accent underline underline-offset-2"
            onClick={() => onChange([...chosen, null])}
          >
            Compare with another model
          </button>
        </div>
      )}
    </div>
  )
}
