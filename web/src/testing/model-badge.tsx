import type { ListedModel } from '../api/queries.ts'
import { count } from '../parts/figures.ts'
import { CheckIcon, WarningIcon, WrenchIcon } from '../parts/icons.tsx'
import { Chip } from '../parts/states.tsx'

/** The validation badge of a model. */
export interface Badge {
  readonly sign: '🔧✓' | '🔧⚠️' | ''
  readonly meaning: string
  readonly trials: string
}

/** Minimum number of tests for a green badge. */
export const MIN_JUDGED = 10

export function badgeOf({ capabilities, validation }: ListedModel): Badge {
  const { validated, test_count, success_count } = validation
  const trials = test_count === 0 ? 'no tests yet' : `${success_count} of ${count(test_count, 'test')} passed`
  if (validated) return { sign: '🔧✓', meaning: 'validated for tools', trials }
  if (capabilities.includes('function-calling')) {
    return { sign: '🔧⚠️', meaning: 'supports tools but not validated', trials }
  }
  return { sign: '', meaning: 'does not support tools', trials }
}

/** The badge with a text for screen readers and the number of tests. A model of a disabled provider must not look usable. */
export function ModelBadge({ model }: { readonly model: ListedModel }) {
  if (model.reason !== undefined) return <Chip tone="bad">not available</Chip>
  const { sign, meaning, trials } = badgeOf(model)
  const { validated, test_count } = model.validation
  const tone = !validated ? 'text-warn' : test_count < MIN_JUDGED ? 'text-muted' : 'text-good'
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      {sign !== '' && (
        <span
          aria-hidden="true"
          title={tone === 'text-muted' ? `${meaning}, with fewer than ${MIN_JUDGED} tests` : meaning}
          className={`inline-flex items-center ${tone}`}
        >
          {/* Drawn as icons, because not every system has these characters; the text is for search and copy. */}
          <span className="sr-only">{sign}</span>
          <WrenchIcon />
          {sign === '🔧✓' ? <CheckIcon /> : <WarningIcon />}
        </span>
      )}
      <span className="sr-only">{meaning}, </span>
      {(sign !== '' || model.validation.tested) && <span className="text-xs text-muted">{trials}</span>}
    </span>
  )
}
