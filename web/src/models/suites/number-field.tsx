import { useId } from 'react'

interface NumberFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly min: number
  readonly max: number
  readonly step?: number
  /** The placeholder of an empty field. */
  readonly hint?: string
}

/** A number field. Clamps the value on blur. */
export function NumberField({ label, value, onChange, min, max, step = 1, hint }: NumberFieldProps) {
  const id = useId()
  const bounded = (text: string): string => {
    if (text === '' || !Number.isFinite(Number(text))) return hint === undefined ? String(min) : ''
    const number = Math.min(max, Math.max(min, Number(text)))
    return String(step === 1 ? Math.round(number) : number)
  }
  return (
    <div>
      <label htmlFor={id} className="block text-sm font-medium">
        {label}
      </label>
      <input
        id={id}
        type="number"
        inputMode="decimal"
        className="field mt-1"
        min={min}
        max={max}
        step={step}
        placeholder={hint}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        onBlur={({ target }) => onChange(bounded(target.value))}
      />
    </div>
  )
}
