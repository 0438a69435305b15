import { Select } from '@base-ui/react/select'
import type { ListedModel } from '../api/queries.ts'
import { CheckIcon, ChevronIcon } from '../parts/icons.tsx'
import { ModelBadge } from './model-badge.tsx'

interface ModelSelectProps {
  readonly label: string
  readonly models: readonly ListedModel[]
  /** The id of the selected model. */
  readonly value: string | null
  readonly onChange: (id: string | null) => void
  readonly invalid?: boolean
  /** In one line: the label and the badge are for screen readers only. */
  readonly compact?: boolean
}

/** The models, each with its badge. */
export function ModelSelect({ label, models, value, onChange, invalid = false, compact = false }: ModelSelectProps) {
  const chosen = models.find(({ id }) => id === value)
  return (
    <Select.Root value={value} onValueChange={onChange}>
      <Select.Label className={compact ? 'sr-only' : 'block text-sm font-medium'}>{label}</Select.Label>
      <Select.Trigger
        aria-invalid={invalid}
        className="field mt-1 flex min-h-10 items-center justify-between gap-2 text-left"
      >
        <Select.Value className="min-w-0">
          {() =>
            chosen === undefined ? (
              <span className="text-muted">Choose a model</span>
            ) : (
              <span className={`flex min-w-0 items-center gap-x-2 ${compact ? '' : 'flex-wrap'}`}>
                <span className={`max-w-full font-medium ${compact ? 'truncate' : 'wrap-anywhere'}`}>
                  {chosen.name}
                </span>
                <span className={compact ? 'sr-only' : ''}>
                  <ModelBadge model={chosen} />
                </span>
              </span>
            )
          }
        </Select.Value>
        <Select.Icon className="text-muted">
          <ChevronIcon />
        </Select.Icon>
      </Select.Trigger>
      <Select.Portal>
        <Select.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-40 outline-none">
          <Select.Popup className="panel max-h-80 border-edge w-[max(var(--anchor-width),22rem)] max-w-(--available-width) overflow-y-auto p-1 shadow-xl">
            <Select.List>
              {models.map((model) => (
                <Select.Item
                  key={model.id}
                  value={model.id}
                  label={model.name}
                  disabled={model.reason !== undefined}
                  className="flex items-center gap-x-2 rounded-lg px-2.5 py-2 outline-none data-[disabled]:text-muted data-[highlighted]:bg-sunk max-sm:flex-wrap"
                >
                  <span className="w-5 shrink-0">
                    <Select.ItemIndicator>
                      <CheckIcon />
                    </Select.ItemIndicator>
                  </span>
                  <span className="min-w-0 flex-1">
                    <Select.ItemText className="block font-medium wrap-anywhere">{model.name}</Select.ItemText>
                    <span className="block text-xs wrap-anywhere text-muted">{model.id}</span>
                    {model.reason !== undefined && (
                      <span className="block text-xs wrap-anywhere text-bad">{model.reason}</span>
                    )}
                  </span>
                  {model.reason === undefined && (
                    <span className="max-sm:w-full max-sm:pl-7">
                      <ModelBadge model={model} />
                    </span>
                  )}
                </Select.Item>
              ))}
            </Select.List>
          </Select.Popup>
        </Select.Positioner>
      </Select.Portal>
    </Select.Root>
  )
}
