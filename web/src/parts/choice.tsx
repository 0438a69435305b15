export interface Option {
  readonly value: string
  readonly label: string
  readonly disabled?: boolean
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: readonly Option[]
  readonly onChange: (value: string) => void
}

/** A native select, for accessibility. */
export const Choice = ({ label, value, options, onChange }: ChoiceProps) => (
  <select
    aria-label={label}
    className="field max-md:px-1.5 max-md:text-sm"
    value={value}
    onChange={(event) => onChange(event.target.value)}
  >
    {options.map((option) => (
      <option key={option.value} value={option.value} disabled={option.disabled}>
        {option.label}
      </option>
    ))}
  </select>
)
